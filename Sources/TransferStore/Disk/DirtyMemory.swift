internal import CLinux
import Glibc
import TransferSystem

/// Reads how many bytes of all programs the machine has yet to write to its disks.
final class DirtyMemory: Sendable {
    private let file: Descriptor

    /// Bytes of /proc/meminfo to read; the lines in question are in its first 600.
    private static let readSize = 2048

    /// - Returns: nil if /proc/meminfo cannot be opened.
    init?() {
        let number = clinux_openat(AT_FDCWD, "/proc/meminfo", O_RDONLY | O_CLOEXEC, 0)
        guard number >= 0 else { return nil }
        file = Descriptor(number)
    }

    /// Bytes that wait to be written or are being written.
    var bytes: UInt64? {
        let number = file.number
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Self.readSize) { buffer in
            let count = pread(number, buffer.baseAddress, buffer.count - 1, 0)
            guard count > 0, let text = buffer.baseAddress else { return nil }
            text[count] = 0
            return Self.bytes(in: text)
        }
    }

    static func bytes(in text: UnsafePointer<CChar>) -> UInt64? {
        guard let waiting = kibibytes("\nDirty:", in: text), let moving = kibibytes("\nWriteback:", in: text) else {
            return nil
        }
        return (waiting + moving) << 10
    }

    private static func kibibytes(_ name: String, in text: UnsafePointer<CChar>) -> UInt64? {
        guard let line = strstr(text, name) else { return nil }
        return UInt64(strtoull(line + name.utf8.count, nil, 10))
    }
}
