internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// The file beside the bytes of an append upload with its declaration and how many bytes are durable. Everything in it
/// has a fixed place, so that it does not grow with the number of requests:
///
/// | from | |
/// |---|---|
/// | 0 | its kind with the digest function, the size of the declaration, the declaration, a digest of these |
/// | 32 KiB, and 512 bytes on | the two slots |
/// | 33 KiB | the last slot whose sync has succeeded |
/// | 36 KiB | the digests of whole blocks, in order |
///
/// Each slot, and the number of the last synced one, has its own sector: a power cut leaves the sector old, new, or
/// torn, and the digest in it reveals a torn one.
final class AppendSheet: SyncableFile, Sendable {
    /// The most bytes of a declaration; the bounds of paths and metadata are lower.
    static let mostDeclared = 24 << 10

    private static let kindSize = 16
    private static let slots: [UInt64] = [32 << 10, (32 << 10) + 512]
    private static let settledPlace: UInt64 = 33 << 10
    private static let digestsPlace: UInt64 = 36 << 10
    private static let suffix = ".sheet"

    let declaration: [UInt8]
    /// The function that digests the content.
    let function: DigestFunction
    private let file: Descriptor
    private let name: String
    private let folder: DirectoryHandle

    var number: Int32 { file.number }

    private var disk: Disk { folder.disk }

    private init(
        _ file: consuming Descriptor, _ name: String, in folder: DirectoryHandle, _ function: DigestFunction,
        _ declaration: [UInt8]
    ) {
        self.file = file
        (self.name, self.folder, self.function, self.declaration) = (name, folder, function, declaration)
    }

    /// The first bytes of a sheet, `kindSize` for each function.
    private static func kind(_ function: DigestFunction) -> [UInt8] {
        switch function {
        case .xxh128: Array("transfer upload\n".utf8)
        case .sha256: Array("transfer sha256\n".utf8)
        }
    }

    static func name(_ id: UploadID) -> String { "\(id)\(suffix)" }

    /// The ID of the upload whose sheet has the name; nil if it is no sheet.
    static func upload(of name: String) -> UploadID? {
        name.hasSuffix(suffix) ? UploadID(hexadecimal: name.dropLast(suffix.count)) : nil
    }

    func remove() { try? folder.unlink(name) }
}

// MARK: The declaration

extension AppendSheet {
    /// - Parameter declaration: at most `mostDeclared` bytes.
    static func make(
        _ id: UploadID, in folder: DirectoryHandle, _ function: DigestFunction, _ declaration: [UInt8]
    ) throws(SystemError) -> AppendSheet {
        let name = name(id)
        let file = try folder.openFile(name, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        let sheet = AppendSheet(file, name, in: folder, function, declaration)
        var head = kind(function)
        head.append(littleEndian: UInt32(truncatingIfNeeded: declaration.count))
        head += declaration
        do throws(SystemError) {
            try sheet.write(head + AppendSlot.check(head), at: 0)
        } catch {
            sheet.remove()
            throw error
        }
        return sheet
    }

    /// - Returns: nil if there is no sheet, or an incomplete one.
    static func find(_ id: UploadID, in folder: DirectoryHandle) throws(SystemError) -> AppendSheet? {
        let name = name(id)
        let file: Descriptor
        do throws(SystemError) {
            file = try folder.openFile(name, flags: O_RDWR)
        } catch {
            guard error.errno == ENOENT else { throw error }
            return nil
        }
        let head = try folder.disk.readAll(
            file.number, most: kindSize + 4 + mostDeclared + AppendSlot.checkSize)
        guard let (function, declaration) = declaration(in: head) else { return nil }
        return AppendSheet(file, name, in: folder, function, declaration)
    }

    private static func declaration(in head: [UInt8]) -> (DigestFunction, [UInt8])? {
        let start = kindSize + 4
        guard head.count >= start, let function = DigestFunction.allCases.first(where: { head.starts(with: kind($0)) })
        else { return nil }
        let size = Int(head.span.bytes.littleEndian(at: kindSize, as: UInt32.self))
        guard size <= mostDeclared, head.count >= start + size + AppendSlot.checkSize else { return nil }
        let check = head[start + size..<start + size + AppendSlot.checkSize]
        guard AppendSlot.check(Array(head[..<(start + size)])) == Array(check) else { return nil }
        return (function, Array(head[start..<start + size]))
    }
}

// MARK: How far it has come

extension AppendSheet {
    /// The valid slots with their places, the newest first.
    func slots() throws(SystemError) -> [(place: Int, slot: AppendSlot)] {
        var found: [(place: Int, slot: AppendSlot)] = []
        for (place, offset) in Self.slots.enumerated() {
            let bytes = try read(AppendSlot.size(function), at: offset)
            if let slot = AppendSlot(bytes, function) { found.append((place, slot)) }
        }
        return found.sorted { $0.slot.sequence > $1.slot.sequence }
    }

    func write(_ slot: AppendSlot, place: Int) throws(SystemError) {
        try write(slot.bytes, at: Self.slots[place % Self.slots.count])
    }

    /// The sequence number of the last slot whose sync is known to have succeeded. It need not be durable.
    var settled: UInt64 {
        get throws(SystemError) {
            let bytes = try read(8 + AppendSlot.checkSize, at: Self.settledPlace)
            guard bytes.count == 8 + AppendSlot.checkSize,
                AppendSlot.check(Array(bytes.prefix(8))) == Array(bytes.dropFirst(8))
            else { return 0 }
            return bytes.span.bytes.littleEndian(at: 0, as: UInt64.self)
        }
    }

    func settle(_ sequence: UInt64) throws(SystemError) {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: sequence)
        try write(bytes + AppendSlot.check(bytes), at: Self.settledPlace)
    }

    /// Writes the digests of blocks, one after the other.
    ///
    /// - Parameter first: the number of the first block.
    func write(digests: ArraySlice<UInt8>, first: Int) throws(SystemError) {
        guard !digests.isEmpty else { return }
        try write(Array(digests), at: Self.digestsPlace + UInt64(first * function.size))
    }

    /// - Returns: nil if the sheet has fewer digests.
    func digests(_ count: Int) throws(SystemError) -> [UInt8]? {
        let (size, isTooMuch) = UInt64(count).multipliedReportingOverflow(by: UInt64(function.size))
        let end = UInt64(clamping: try disk.status(number).st_size)
        guard !isTooMuch, size <= end - min(end, Self.digestsPlace) else { return nil }
        let bytes = try read(count * function.size, at: Self.digestsPlace)
        return bytes.count == count * function.size ? bytes : nil
    }

    private func write(_ bytes: [UInt8], at offset: UInt64) throws(SystemError) {
        try disk.writeAll(number, bytes, at: offset)
    }

    private func read(_ count: Int, at offset: UInt64) throws(SystemError) -> [UInt8] {
        try disk.readAll(number, most: count, at: offset)
    }
}
