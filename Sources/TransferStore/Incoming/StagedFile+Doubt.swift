internal import CLinux
import Glibc
import Synchronization
import TransferModel
import TransferSystem

/// A sync that fails leaves bytes in memory that the disk does not have, and nobody who compares can tell. So a part is
/// withdrawn before it is synced: whatever becomes of the sync, of the call that should remove the part, or of the process,
/// nobody goes on with it.
extension StagedFile {
    /// Gives the part a name that no upload stands for, which the next server removes.
    ///
    /// - Throws: what rename(2) says; then it is as it was, and must not be synced.
    func withdraw(id: UploadID) throws(SystemError) {
        guard case .resumable(let name) = place else { return }
        var number = 0
        while true {
            let other = Self.withdrawnName(id, number)
            do throws(SystemError) {
                try move(name, to: other)
                place = .withdrawn(other, from: name)
                incoming.parts.wrappingSubtract(1, ordering: .relaxed)
                return
            } catch {
                guard error.errno == EEXIST else { throw error }
                number += 1
            }
        }
    }

    /// Its content is durable and it could not be published for another reason: whoever sends the upload again goes on with
    /// it. Anything else that nobody can go on with is thrown away.
    func discardUnlessResumable() {
        switch place {
        case .resumable, .none: return
        case .anonymous, .named: return discard()
        case .withdrawn(let other, let name):
            do throws(SystemError) {
                try move(other, to: name)
                place = .resumable(name)
                incoming.parts.wrappingAdd(1, ordering: .relaxed)
            } catch {
                discard()
            }
        }
    }

    private func move(_ old: String, to new: String) throws(SystemError) {
        let folder = incoming.directory
        do throws(SystemError) {
            try disk.renameToFreeName(folder.number, old, to: (folder.number, new))
        } catch {
            // The file system lacks the flag (rename(2)).
            guard error.errno == EINVAL else { throw error }
            try link(into: folder, as: new)
            try folder.unlink(old)
        }
    }
}
