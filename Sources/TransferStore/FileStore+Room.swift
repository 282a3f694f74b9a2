import Glibc
package import TransferModel
import TransferSystem

extension FileStore {
    /// How much of the disk there is.
    package struct Room: Equatable, Sendable {
        /// Bytes of the file system that the server may still write.
        package let free: UInt64
        /// Bytes of the whole file system.
        package let total: UInt64
    }

    /// - Returns: nothing where that cannot be said, as in memory without a limit (tmpfs(5), size).
    package var room: Room? {
        guard let status = try? incoming.directory.disk.room(incoming.directory.number), status.f_blocks > 0 else {
            return nil
        }
        let size = UInt64(status.f_frsize)
        let (free, isFreeTooMuch) = UInt64(status.f_bavail).multipliedReportingOverflow(by: size)
        let (total, isTotalTooMuch) = UInt64(status.f_blocks).multipliedReportingOverflow(by: size)
        return isFreeTooMuch || isTotalTooMuch ? nil : Room(free: free, total: total)
    }

    /// Whether the file system is mounted so that nothing can be written.
    package var isReadOnly: Bool {
        let status = try? incoming.directory.disk.room(incoming.directory.number)
        return status.map { $0.f_flag & UInt(ST_RDONLY) != 0 } ?? false
    }

    /// Holds to other limits from now on, as far as that can change: not whether there is a quota, and nothing where there
    /// were no limits.
    ///
    /// - Returns: those that hold now.
    package func change(_ limits: SpaceLimits) -> SpaceLimits { space?.change(limits) ?? SpaceLimits() }

    /// Whether as much of the disk is free as has to stay free, before something is written that is no content.
    ///
    /// - Throws: `insufficientStorage`.
    package func checkRoom() throws(Failure) { try space?.check() }

    /// Bytes that count against the quota, and the quota; nothing without one.
    package var quota: (used: UInt64, limit: UInt64)? { space?.quota.map { ($0.used, $0.currentLimit) } }
}
