private import CLinux
private import Glibc
internal import TransferReceipts
internal import TransferSystem

/// The file of `push --receipts`, to which receipts are appended, one per line. Several pushes may write to one file.
///
/// `@unchecked Sendable`: made by the command, then used by its reporter alone.
final class ReceiptFile: @unchecked Sendable {
    /// The path of the file.
    let path: String

    private let descriptor: Descriptor
    private var isNew = false
    private var failure: SystemError?
    /// Receipts that are not written yet.
    private let lines = ReceiptLineBuffer(worthwhile: worthwhile)

    /// Bytes for each write(2). With 64 KiB, the call costs a hundredth of what making its lines costs.
    private static let worthwhile = 64 << 10

    /// Opens the file, and creates it if it is missing.
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

    /// Appends a line to the buffer. It is written when the buffer is full, or by `flush`.
    func append(_ receipt: SignedReceipt) {
        lines.append(receipt)
        if lines.count >= Self.worthwhile { flush() }
    }

    /// Writes the buffer in one call, so that lines of concurrent pushes do not mix.
    func flush() {
        guard lines.count > 0 else { return }
        lines.take { write($0) }
    }

    /// Whether every receipt so far was written.
    var isWell: Bool { failure == nil && lines.count == 0 }

    /// Syncs the file, and its folder if the file is new.
    ///
    /// - Returns: the error if receipts are lost; nil otherwise.
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
            // A folder without read permission cannot be synced.
            if error.errno != EACCES { failure = error }
        }
    }

    /// Whether the last line is incomplete, because an earlier push was interrupted.
    private static func endsInsideLine(_ path: String, _ status: stat) -> Bool {
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else { return false }
        let number = clinux_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0)
        guard number >= 0 else { return false }
        let file = Descriptor(number)
        var last: UInt8 = 0
        return pread(file.number, &last, 1, status.st_size - 1) == 1 && last != UInt8(ascii: "\n")
    }
}
