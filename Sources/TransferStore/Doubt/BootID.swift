package import CLinux
import Glibc
import TransferCodec
import TransferModel
import TransferPorts
import TransferSystem

/// Tells one run of the kernel from the next: what its page cache holds is gone with it.
package enum BootID {
    /// Of the running kernel (random(4), boot_id); "unknown" where it doesn't say.
    package static var current: String {
        do throws(SystemError) { return try read() ?? unknown } catch { return unknown }
    }

    /// Never taken for another run than the present one.
    static let unknown = "unknown"

    /// 32 hexadecimal digits and 4 dashes, and a line feed behind.
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

/// Tells a directory of this machine from all others, as long as the machine runs: for a client that may have the directory of its
/// server before it. docs/PROTOCOL.md says what it is made of.
package enum DirectoryIdentity {
    /// - Parameter descriptor: of the directory.
    /// - Returns: 16 bytes, an XXH128 digest; nil where the directory or the kernel's boot id cannot be read.
    package static func of(_ descriptor: Int32) -> [UInt8]? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? of(status) : nil
    }

    /// - Parameter status: of the directory.
    package static func of(_ status: stat) -> [UInt8]? {
        let boot = BootID.current
        guard boot != BootID.unknown else { return nil }
        let digester = ContentDigester(.xxh128)
        Array("\(boot) \(status.st_dev) \(status.st_ino)".utf8).withUnsafeBytes { digester.update($0) { _, _ in } }
        return Array(digester.finish().digest.bytes)
    }
}
