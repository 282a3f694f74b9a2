internal import CLinux
import Glibc
package import TransferModel
import TransferSystem

extension FileStore {
    /// Bytes that are free when something in the trash is gone: files with other names free nothing.
    package struct Freeable: Equatable, Sendable {
        /// As they count against the quota.
        package var stored: UInt64 = 0
        /// As they take room on disk.
        package var onDisk: UInt64 = 0
    }

    /// What would be free without a part of the trash. Looks at every file in it.
    package func freeable(_ batch: TrashBatch) -> Freeable {
        var walk = StoredWalk(tree, from: .trash(batch, nil))
        var sum = Freeable()
        while let item = walk.next() {
            guard case .file(let place) = item,
                let status = (try? place.directory.status(String(place.path.name))) ?? nil, status.st_nlink < 2
            else { continue }
            sum.stored = sum.stored.addingClamped(ContentVersion(status).size)
            sum.onDisk = sum.onDisk.addingClamped(status.space)
        }
        return sum
    }

    /// Has somebody make room where it is missing, before anything is refused for that.
    ///
    /// - Parameter body: called on any thread, without a lock that others wait for; says whether there is more room than before.
    package func whenFull(_ body: @escaping @Sendable (RoomNeed) -> Bool) { incoming.room.set(body) }

    /// Whether calls to the disk come one after the other, on one thread.
    package var isSerial: Bool { tree.root.disk.isSerial }

    /// Removes empty folders of the trash.
    package func tidyTrash(_ folders: Set<RelativePath>) {
        for folder in folders { tree.removeEmptyTrash(folder, incoming.committer.directories) }
    }
}
