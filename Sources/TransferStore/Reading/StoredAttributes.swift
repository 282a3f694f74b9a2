internal import CLinux
import Glibc
import TransferCodec
package import TransferModel
import TransferSystem

/// What a stored file or directory is, without a look at its content.
package struct StoredAttributes: Equatable, Sendable {
    package let isDirectory: Bool

    /// Bytes; 0 for a directory.
    package let size: UInt64

    package let modified: Timestamp

    /// 0 to 0o777.
    package let permissions: UInt16

    package let version: ContentVersion

    /// Whether somebody gave it its time of modification, as a pull does: what is only written has that of its last change.
    package let hasGivenTime: Bool

    /// - Returns: nothing for what is neither a file nor a directory.
    init?(_ status: stat) {
        guard status.isFile || status.isDirectory else { return nil }
        self.init(of: status)
    }

    /// Of a symbolic link, which has no content of its own.
    init(link status: stat) { self.init(of: status) }

    private init(of status: stat) {
        isDirectory = status.isDirectory
        version = ContentVersion(status)
        size = status.isFile ? version.size : 0
        modified = Timestamp(
            seconds: Int64(status.st_mtim.tv_sec),
            nanoseconds: UInt32(clamping: min(max(0, status.st_mtim.tv_nsec), 999_999_999)))
        permissions = UInt16(truncatingIfNeeded: status.st_mode & 0o777)
        hasGivenTime =
            status.st_mtim.tv_sec != status.st_ctim.tv_sec || status.st_mtim.tv_nsec != status.st_ctim.tv_nsec
    }

    /// What clients are told.
    package var fileVersion: FileVersion { isDirectory ? .none : version.told }
}

extension ContentVersion {
    /// What clients are told of a file or link: changes whenever the content may have. Not with the permissions or names of a file:
    /// whoever has half of it can go on with it.
    package var told: FileVersion {
        let facts = (object.bigEndian, revision.bigEndian, size.bigEndian)
        let digest = withUnsafeBytes(of: facts) { BlockHasher.digest(.xxh128, $0) }
        return digest.withUnsafeBytes { bytes in
            FileVersion(
                high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }
}
