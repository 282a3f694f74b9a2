package import CLinux
import Glibc
import TransferCodec
import TransferModel
import TransferSystem

/// Identifies a directory of this machine until the machine is restarted, for a client that may have the server's
/// directory mounted itself. docs/reference/protocol.md defines the bytes.
package enum DirectoryIdentity {
    /// - Parameter descriptor: a descriptor of the directory.
    /// - Returns: 16 bytes, an XXH128 digest; nil if the directory or the kernel's boot id cannot be read.
    package static func of(_ descriptor: Int32) -> [UInt8]? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? of(status) : nil
    }

    /// - Parameter status: the directory's status.
    package static func of(_ status: stat) -> [UInt8]? {
        let boot = BootID.current
        guard boot != BootID.unknown else { return nil }
        let digester = ContentDigester(.xxh128)
        Array("\(boot) \(status.st_dev) \(status.st_ino)".utf8).withUnsafeBytes { digester.update($0) { _, _ in } }
        return Array(digester.finish().digest.bytes)
    }
}
