internal import TransferModel
import TransferPorts
internal import TransferSystem

/// The format of entries in a blob of the table of arrivals: one after the other, without gaps.
///
/// Each entry has nine numbers of 8 bytes (id high and low, size, begun, committed, run, object, touch, revision),
/// three of 4 (bytes of path, of sender and of the last field) and four of 1 (state, kind, digest algorithm or 0,
/// `Presence`), all in little-endian order. Then come digest, path, sender, the numbers of receipt and client if the
/// entry has them, and a last field that older servers skip: the replaced file that is kept (`KeptFile`), or the
/// receipt that older versions wrote there.
enum CatalogRecord {
    /// Which fields an entry has, and whether it is durable.
    fileprivate struct Presence: OptionSet {
        let rawValue: UInt8
        // Without this flag, the entry has no time of acknowledgement. No current version writes such entries.
        static let committed = Presence(rawValue: 1)
        static let run = Presence(rawValue: 2)
        static let version = Presence(rawValue: 4)
        static let durable = Presence(rawValue: 8)
        // The last field is a receipt. No current version writes this flag.
        static let wholeReceipt = Presence(rawValue: 16)
        static let receipt = Presence(rawValue: 32)
        static let client = Presence(rawValue: 64)
        static let replaced = Presence(rawValue: 128)
    }

    private static let fixedSize = 9 * 8 + 3 * 4 + 4

    /// Bytes of the kept file without its path in the trash: object, touch, revision and size of the version before,
    /// and touch, revision and size of the version after.
    private static let keptSize = 7 * 8

    static func encode(_ entries: [CatalogEntry]) -> [UInt8] {
        let size = entries.reduce(0) { $0 + byteCount($1) }
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            var output = RecordOutput(rest: UnsafeMutableRawBufferPointer(buffer))
            for entry in entries { write(entry, to: &output) }
            count = size
        }
    }

    /// - Returns: the entries before the first invalid one. The bytes after it cannot be divided into entries.
    static func decode(_ bytes: UnsafeRawBufferPointer) -> [CatalogEntry] {
        var input = RecordInput(rest: bytes)
        var entries: [CatalogEntry] = []
        while let entry = read(&input) { entries.append(entry) }
        return entries
    }

    private static func byteCount(_ entry: CatalogEntry) -> Int {
        fixedSize + (entry.digest?.bytes.count ?? 0) + entry.path.utf8.count + entry.sender.utf8.count
            + (entry.receipt == nil ? 0 : MemoryLayout<UInt64>.size)
            + (entry.client == nil ? 0 : MemoryLayout<UInt64>.size) + keptCount(entry)
    }

    /// Bytes of the kept file; 0 if the entry has no kept file or its version is unknown.
    private static func keptCount(_ entry: CatalogEntry) -> Int {
        guard let kept = entry.kept, kept.version != nil else { return 0 }
        return keptSize + kept.place.string.utf8.count
    }

    private static func write(_ kept: KeptFile?, to output: inout RecordOutput) {
        guard let kept, let version = kept.version else { return }
        output.append(version.before.object)
        output.append(version.before.touch)
        output.append(version.before.revision)
        output.append(version.before.size)
        output.append(version.after.touch)
        output.append(version.after.revision)
        output.append(version.after.size)
        kept.place.string.utf8.span.bytes.withUnsafeBytes { output.append($0) }
    }

    /// - Parameter bytes: the whole field of the kept file.
    /// - Returns: nil for bytes that no server writes.
    private static func kept(_ bytes: UnsafeRawBufferPointer) -> KeptFile? {
        var input = RecordInput(rest: bytes)
        guard let object = input.next(UInt64.self), let touch = input.next(Int64.self),
            let revision = input.next(Int64.self), let size = input.next(UInt64.self),
            let newTouch = input.next(Int64.self), let newRevision = input.next(Int64.self),
            let newSize = input.next(UInt64.self), let text = input.text(bytes.count - keptSize),
            let place = RelativePath(stored: text), let batch = TrashBatch(of: place)
        else { return nil }
        let before = ContentVersion(object: object, revision: revision, touch: touch, size: size)
        let after = ContentVersion(object: object, revision: newRevision, touch: newTouch, size: newSize)
        return KeptFile(place: place, in: batch, version: KeptFile.Versions(before: before, after: after))
    }

    private static func write(_ entry: CatalogEntry, to output: inout RecordOutput) {
        output.append(entry.id.high)
        output.append(entry.id.low)
        output.append(entry.size)
        output.append(entry.begun)
        output.append(entry.committed)
        output.append(entry.run ?? 0)
        output.append(entry.version?.object ?? 0)
        output.append(entry.version?.touch ?? 0)
        output.append(entry.version?.revision ?? 0)
        output.append(UInt32(entry.path.utf8.count))
        output.append(UInt32(entry.sender.utf8.count))
        output.append(UInt32(keptCount(entry)))
        output.append(UInt8(entry.state.rawValue))
        output.append(entry.kind.rawValue)
        output.append(entry.digest?.algorithm.rawValue ?? 0)
        output.append(presence(entry).rawValue)
        entry.digest?.bytes.withUnsafeBytes { output.append($0) }
        entry.path.utf8.span.bytes.withUnsafeBytes { output.append($0) }
        entry.sender.utf8.span.bytes.withUnsafeBytes { output.append($0) }
        if let receipt = entry.receipt { output.append(receipt) }
        if let client = entry.client { output.append(client) }
        write(entry.kept, to: &output)
    }

    private static func presence(_ entry: CatalogEntry) -> Presence {
        var presence: Presence = entry.isDurable ? [.committed, .durable] : .committed
        if entry.run != nil { presence.insert(.run) }
        if entry.version != nil { presence.insert(.version) }
        if entry.receipt != nil { presence.insert(.receipt) }
        if entry.client != nil { presence.insert(.client) }
        if entry.hasReplaced { presence.insert(.replaced) }
        return presence
    }

    private static func read(_ input: inout RecordInput) -> CatalogEntry? {
        guard let high = input.next(UInt64.self), let low = input.next(UInt64.self), let size = input.next(UInt64.self),
            let begun = input.next(Int64.self), let committed = input.next(Int64.self),
            let run = input.next(UInt64.self),
            let object = input.next(UInt64.self), let touch = input.next(Int64.self),
            let revision = input.next(Int64.self), let pathCount = input.next(UInt32.self),
            let senderCount = input.next(UInt32.self), let skippedCount = input.next(UInt32.self),
            let state = input.next(UInt8.self).flatMap({ CatalogEntry.State(rawValue: Int64($0)) }),
            let kind = input.next(UInt8.self), let algorithm = input.next(UInt8.self),
            let presence = input.next(UInt8.self).map({ Presence(rawValue: $0) }),
            let digest = readDigest(&input, algorithm), let path = input.text(Int(pathCount)),
            let sender = input.text(Int(senderCount)),
            let receipt = readNumber(&input, presence.contains(.receipt)),
            let client = readNumber(&input, presence.contains(.client)),
            let skipped = input.bytes(Int(skippedCount))
        else { return nil }
        let version = ContentVersion(object: object, revision: revision, touch: touch, size: size)
        var entry = CatalogEntry(
            id: UploadID(high: high, low: low), state: state, path: path, kind: ContentKind(rawValue: kind) ?? .file,
            size: size, digest: digest, isDurable: presence.contains(.durable), sender: sender, client: client,
            begun: begun,
            committed: presence.contains(.committed) ? committed : begun, run: presence.contains(.run) ? run : nil,
            version: presence.contains(.version) ? version : nil, receipt: receipt,
            hasReplaced: presence.contains(.replaced))
        if !skipped.isEmpty, !presence.contains(.wholeReceipt) { entry.kept = kept(skipped) }
        return entry
    }

    /// - Returns: nil for a truncated number; `.some(nil)` if there is no number.
    private static func readNumber(_ input: inout RecordInput, _ isThere: Bool) -> UInt64?? {
        isThere ? input.next(UInt64.self).map { $0 } : .some(nil)
    }

    /// - Returns: nil for an invalid digest; `.some(nil)` if there is no digest.
    private static func readDigest(_ input: inout RecordInput, _ number: UInt8) -> Digest?? {
        guard number != 0 else { return .some(nil) }
        guard let algorithm = DigestAlgorithm(rawValue: number), let bytes = input.bytes(algorithm.function.size) else {
            return nil
        }
        return .some(Digest(algorithm, Array(bytes)))
    }
}

/// A buffer that is exactly as large as what is written to it.
private struct RecordOutput {
    var rest: UnsafeMutableRawBufferPointer

    mutating func append<T: FixedWidthInteger & BitwiseCopyable>(_ number: T) {
        rest.storeBytes(of: number.littleEndian, as: T.self)
        rest = UnsafeMutableRawBufferPointer(rebasing: rest[MemoryLayout<T>.size...])
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        rest.copyMemory(from: bytes)
        rest = UnsafeMutableRawBufferPointer(rebasing: rest[bytes.count...])
    }
}

/// Untrusted bytes that are read in order.
private struct RecordInput {
    var rest: UnsafeRawBufferPointer

    mutating func next<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) -> T? {
        bytes(MemoryLayout<T>.size).map { T(littleEndian: $0.loadUnaligned(as: type)) }
    }

    mutating func bytes(_ count: Int) -> UnsafeRawBufferPointer? {
        guard count <= rest.count else { return nil }
        defer { rest = UnsafeRawBufferPointer(rebasing: rest[count...]) }
        return UnsafeRawBufferPointer(rebasing: rest[..<count])
    }

    mutating func text(_ count: Int) -> String? {
        bytes(count).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
