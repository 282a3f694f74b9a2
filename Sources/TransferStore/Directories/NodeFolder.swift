import Glibc
package import TransferModel
import TransferPorts
import TransferSystem

/// The folder that one server of a cluster has on its machine: at its top the files without a name that uploads pass through, and
/// in `.transfer` the server's own files. Nothing that was acknowledged is in it.
///
/// The server holds the lock of the folder, because two servers would replace each other's files.
package final class NodeFolder: Sendable {
    private let top: DirectoryHandle
    private let own: DirectoryHandle
    private let lock: DirectoryLock

    /// Opens the folder and takes its lock. The folder is created if it is missing; its parent must exist.
    ///
    /// - Parameter path: a path on this machine.
    /// - Throws: `busy` if another server has the folder; `storageFailed` if it cannot be used, if other users may write in it, or if
    ///   a server without a cluster stores in it.
    package init(path: String) throws(Failure) {
        let shown = path.escapedForDisplay
        (top, own) = try FileStore.openFolders(path, on: Disk(), syncs: false)
        if let reason = OwnFolder.distrust(of: own) { throw Self.unusable(shown, reason) }
        let (hasStored, isTaken): (Bool, Bool)
        do throws(SystemError) {
            hasStored = try own.status("incoming") != nil
            lock = try DirectoryLock(in: own)
            isTaken = try lock.take()
        } catch {
            throw Self.unusable(shown, error.reason)
        }
        guard !hasStored else { throw Self.unusable(shown, "a server without a cluster stores in it") }
        guard isTaken else {
            let holder = lock.holder.map { ": \($0)" } ?? ""
            throw Failure(
                .busy, "Another server uses the folder '\(shown)'\(holder). Name another folder with --scratch.")
        }
    }

    private static func unusable(_ shown: String, _ reason: String) -> Failure {
        Failure(.storageFailed, "Cannot use the folder '\(shown)': \(reason). Name another one with --scratch.")
    }

    /// The descriptor of the folder, valid while this object exists.
    package var directory: Int32 { top.number }

    /// The descriptor of `.transfer` in the folder, valid while this object exists.
    package var ownFolder: Int32 { own.number }

    /// Releases the lock, so that another server may use the folder.
    package func unlock() { lock.release() }
}
