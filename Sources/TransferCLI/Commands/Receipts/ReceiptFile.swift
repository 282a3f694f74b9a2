private import CLinux
private import Glibc
internal import TransferReceipts
internal import TransferSystem

/// Where a push keeps its receipts: a file that grows by a line for each. Several pushes may write to one file.
///
/// `@unchecked Sendable`: made by the command, then used by its reporter alone.
final class ReceiptFile: @unchecked Sendable {
    /// Of the file.
    let path: String

    private let descriptor: Descriptor
    private var isNew = false
    private var failure: SystemError?
    /// Those that are not written yet.
    private let lines = ReceiptLineBuffer(worthwhile: worthwhile)

    /// Bytes that are worth a call: with 64 KiB it costs a hundredth of what the lines in it do.
    private static let worthwhile = 64 << 10

    /// Opens the file, making it where it is missing.
    init(_ path: String) throws(SystemError) {
        self.path = path
        var status = stat()
        isNew = stat(path, &status) != 0
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC
        descriptor = Descriptor(try system("open") { clinux_openat(AT_FDCWD, path, flags, 0o666) })
        if !isNew, Self.endsInsideLine(path, status) {
            withUnsafeBytes(of: UInt8(ascii: "\n")) { write($0) }
        }
    }

    /// Appends a line, now or soon: at the latest `flush` writes it.
    func append(_ receipt: SignedReceipt) {
        lines.append(receipt)
        if lines.count >= Self.worthwhile { flush() }
    }

    /// Writes what waits, with one call, so that lines of pushes that go on at the same time don't mix.
    func flush() {
        guard lines.count > 0 else { return }
        lines.take { write($0) }
    }

    /// Whether all that was to be written is.
    var isWell: Bool { failure == nil && lines.count == 0 }

    /// Makes what was appended durable.
    ///
    /// - Returns: why receipts are lost, if any are.
    func close() -> SystemError? {
        flush()
        if failure == nil { sync(descriptor.number) }
        if failure == nil, isNew { syncFolder() }
        return failure
    }

    private func write(_ lines: UnsafeRawBufferPointer) {
        guard failure == nil else { return }
        do throws(SystemError) {
            try writeAll(lines, to: descriptor.number)
        } catch {
            failure = error
        }
    }

    private func sync(_ number: Int32) {
        do throws(SystemError) {
            try system("fsync") { fsync(number) }
        } catch {
            // A pipe or a terminal keeps nothing that could be synced (fsync(2), Errors).
            if error.errno != EINVAL, error.errno != EROFS { failure = error }
        }
    }

    private func syncFolder() {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        do throws(SystemError) {
            let flags = clinux_o_directory | O_RDONLY | O_CLOEXEC
            let handle = Descriptor(try system("open") { clinux_openat(AT_FDCWD, folder, flags, 0) })
            sync(handle.number)
        } catch {
            // A folder that may not be read cannot be synced.
            if error.errno != EACCES { failure = error }
        }
    }

    /// Whether an earlier push was cut off in the middle of its last line.
    private static func endsInsideLine(_ path: String, _ status: stat) -> Bool {
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else { return false }
        let number = clinux_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0)
        guard number >= 0 else { return false }
        let file = Descriptor(number)
        var last: UInt8 = 0
        return pread(file.number, &last, 1, status.st_size - 1) == 1 && last != UInt8(ascii: "\n")
    }
}
