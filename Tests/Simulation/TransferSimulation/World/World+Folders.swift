import TransferAccess
import TransferCodec
import TransferIntake
import TransferModel

/// Comparisons of whole folders, in addition to lookups of single uploads.
extension World {
    /// Compares each folder in which a caller has known uploads, with a digest that is right and with one that is
    /// wrong.
    ///
    /// - Parameters:
    ///   - known: uploads that a lookup has just found, each with its index in the world.
    ///   - strange: uploads of the caller that the lookup has not found.
    func compareFolders(_ session: Session, _ known: [(index: Int, path: RelativePath)], strange: [Int]) throws {
        let folders = Dictionary(grouping: known) { PathKey($0.path.parent?.string ?? "") }
        for (folder, known) in folders.sorted(by: { $0.key < $1.key }) {
            guard let path = shown(folder.string, session) else { continue }
            // A file that was moved into the folder has an ID that belongs to no upload, and the world does not know
            // the digest of a folder with such a file.
            guard !records.hasStranger(in: folder.string, but: Set(uploads.map(\.id))) else { continue }
            // The newest upload of each file stands for the file.
            var newest: [PathKey: Int] = [:]
            for (index, path) in known {
                let key = PathKey(path.string)
                guard let before = newest[key], isNewer(before, than: index) else {
                    newest[key] = index
                    continue
                }
            }
            // The digest takes uploads in the order of their names.
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

    /// Path of a folder as the caller sees it; nil if the folder is not below the caller's own folder.
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

    /// A comparison finds a recent upload only after the server has brought the index of the catalog up to date, which
    /// it does not do for every query.
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
        // The world has the ids of the server, and the digest needs those of the caller.
        for (index, name) in uploads { digester.add(session.intake.caller.outer(self.uploads[index].id), name) }
        let comparison = try FolderComparison(intake, session.intake.caller, path: folder, .xxh128, digester.finish())
        while true {
            if let isSame = comparison.step() { return isSame }
        }
    }
}
