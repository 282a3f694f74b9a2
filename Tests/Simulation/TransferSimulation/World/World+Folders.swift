import TransferAccess
import TransferCodec
import TransferIntake
import TransferModel

/// Questions about whole folders, beside those about each upload.
extension World {
    /// Asks about every folder that a caller has known uploads in, by digests that hold and by others.
    ///
    /// - Parameters:
    ///   - known: what a lookup has just found, with the number of the upload here.
    ///   - strange: uploads of the caller of which it has found nothing.
    func compareFolders(_ session: Session, _ known: [(index: Int, path: RelativePath)], strange: [Int]) throws {
        let folders = Dictionary(grouping: known) { PathKey($0.path.parent?.string ?? "") }
        for (folder, known) in folders.sorted(by: { $0.key < $1.key }) {
            guard let path = shown(folder.string, session) else { continue }
            // What was moved there is nobody's upload any more.
            guard !records.hasStranger(in: folder.string, but: Set(uploads.map(\.id))) else { continue }
            // Of each file the newest upload stands for it.
            var newest: [PathKey: Int] = [:]
            for (index, path) in known {
                let key = PathKey(path.string)
                guard let before = newest[key], isNewer(before, than: index) else {
                    newest[key] = index
                    continue
                }
            }
            // In the order of their names.
            let indices = newest.sorted { $0.key < $1.key }.map { (index: $1, name: Self.name($0.string)) }
            let isKnown = try compareSettled(session, path, indices)
            if isKnown { done.insert(.compareFolders) }
            guard !disk.isDead else { return }
            if !isKnown, !records.hasFailed {
                throw Promises.Broken("the folder '\(folder.string)' is not known by uploads that are, one by one")
            }
            let others = strange.first.map { [(index: $0, name: indices.last?.name ?? "")] }
            if let others, try compare(session, path, indices.dropLast() + others) {
                throw Promises.Broken("the folder '\(folder.string)' is known with an upload that is not")
            }
        }
    }

    private func isNewer(_ index: Int, than other: Int) -> Bool {
        records.place(of: uploads[index].id) ?? 0 > records.place(of: uploads[other].id) ?? 0
    }

    /// How the caller calls a folder; nothing for one that is not below its own.
    private func shown(_ folder: String, _ session: Session) -> String? {
        guard let path = try? RelativePath(folder) else {
            return session.intake.caller.grant.options.folder == nil ? "" : nil
        }
        if session.intake.caller.grant.options.folder == path { return "" }
        return session.intake.caller.clientPath(path)?.string
    }

    private static func name(_ path: String) -> String {
        path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? ""
    }

    /// What came a moment ago is found by its folder once the server has brought its catalog in order, which it does not do for
    /// every question.
    private func compareSettled(
        _ session: Session, _ folder: String, _ uploads: [(index: Int, name: String)]
    ) throws -> Bool {
        if try compare(session, folder, uploads) { return true }
        guard records.hasUnindexed else { return false }
        clock.wait(1_000_000_000)
        return try compare(session, folder, uploads)
    }

    private func compare(
        _ session: Session, _ folder: String, _ uploads: [(index: Int, name: String)]
    ) throws -> Bool {
        guard let intake else { return false }
        let digester = UploadListDigester()
        // The ids here are the server's.
        for (index, name) in uploads { digester.add(session.intake.caller.outer(self.uploads[index].id), name) }
        let comparison = try FolderComparison(intake, session.intake.caller, path: folder, .xxh128, digester.finish())
        while true {
            if let isSame = comparison.step() { return isSame }
        }
    }
}
