private import CLinux
private import Glibc
internal import TransferSystem

/// The file of `sent --receipts`, to which new receipts of recipients are appended, one per line.
struct DeliveryReceiptFile {
    private let path: String

    /// Bytes for each pread(2).
    private static let readSize = 256 << 10

    init(_ path: String) {
        self.path = path
    }

    /// Appends the lines that the file does not have, and syncs it.
    ///
    /// - Returns: the number of new lines.
    func append(_ lines: [[UInt8]]) throws(SystemError) -> Int {
        let flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC
        let file = Descriptor(try system("open") { clinux_openat(AT_FDCWD, path, flags, 0o666) })
        // Without the lock, another process could append the same lines in the meantime.
        try system("flock") { flock(file.number, LOCK_EX) }
        let (known, isCut) = try Self.lines(in: file.number)
        var seen = known
        let new = lines.filter { !$0.contains(UInt8(ascii: "\n")) && seen.insert($0).inserted }
        guard !new.isEmpty else { return 0 }
        var text: [UInt8] = isCut ? [UInt8(ascii: "\n")] : []
        for line in new { text += line + [UInt8(ascii: "\n")] }
        let failure = text.withUnsafeBytes { bytes -> SystemError? in
            do throws(SystemError) {
                try writeAll(bytes, to: file.number)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
        do throws(SystemError) {
            try system("fsync") { fsync(file.number) }
        } catch {
            // A pipe or a terminal keeps nothing that could be synced (fsync(2), Errors).
            if error.errno != EINVAL, error.errno != EROFS { throw error }
        }
        return new.count
    }

    /// - Returns: the lines, and whether the last one has no end.
    private static func lines(in file: Int32) throws(SystemError) -> (Set<[UInt8]>, isCut: Bool) {
        var lines: Set<[UInt8]> = []
        var rest: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: readSize)
        var offset: off_t = 0
        while true {
            let count: Int
            do throws(SystemError) {
                count = try system("pread") { pread(file, &buffer, readSize, offset) }
            } catch {
                // The content of a pipe or a terminal is unknown.
                if error.errno == ESPIPE || error.errno == EBADF || error.errno == EINVAL { return ([], false) }
                throw error
            }
            guard count > 0 else { return (lines, !rest.isEmpty) }
            offset += off_t(count)
            rest += buffer[..<count]
            var parts = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            rest = Array(parts.removeLast())
            for part in parts { lines.insert(Array(part)) }
        }
    }
}
