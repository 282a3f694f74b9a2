import CLinux
import Glibc

/// Identifies one run of the kernel. When the run ends, unsynced pages are lost.
package enum BootID {
    /// The ID of the running kernel (random(4), boot_id); "unknown" if it cannot be read.
    package static var current: String {
        do throws(SystemError) { return try read() ?? unknown } catch { return unknown }
    }

    /// Stands for a run that could not be determined, and counts as the present one.
    package static let unknown = "unknown"

    /// Characters of an ID: 32 hexadecimal digits and 4 dashes; a line feed follows.
    private static let length = 36

    private static func read() throws(SystemError) -> String? {
        let path = "/proc/sys/kernel/random/boot_id"
        let file = Descriptor(try system("open") { clinux_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0) })
        let number = file.number
        return try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 2 * length) { buffer throws(SystemError) in
            let count = try system("read") { Glibc.read(number, buffer.baseAddress, buffer.count) }
            guard count >= length, buffer[..<length].allSatisfy(isExpected) else { return nil }
            return String(decoding: buffer[..<length], as: UTF8.self)
        }
    }

    private static func isExpected(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "-"): true
        default: false
        }
    }
}
