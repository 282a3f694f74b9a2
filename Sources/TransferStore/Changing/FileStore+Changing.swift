import Glibc
package import TransferModel
import TransferSystem

extension FileStore {
    /// To make folders and links with, and to change what is there.
    package func editor() -> TreeEditor {
        TreeEditor(tree, incoming, umask: umask) { [incoming] in incoming.directory }
    }

    /// The parts of the trash, in no order; those alone that have something below a folder, where one is given.
    package func trash(below folder: RelativePath?) throws(StoreError) -> [TrashBatch] {
        let batches = try attempt("look into the trash") { () throws(SystemError) -> [TrashBatch] in
            do throws(SystemError) {
                return try tree.open(.trashFolder).names().compactMap(TrashBatch.init)
            } catch {
                guard error.errno == ENOENT else { throw error }
                return []
            }
        }
        guard let folder else { return batches }
        return batches.filter { (try? tree.open(.trash($0, folder))) != nil }
    }
}
