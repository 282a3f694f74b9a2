import TransferModel
import TransferStore
import TransferSystem

/// A directory store that can less than others.
final class LimitedStore: ContentStore {
    let abilities: StoreAbilities
    private let store: FileStore

    init(_ store: FileStore, _ abilities: StoreAbilities) {
        (self.store, self.abilities) = (store, abilities)
    }

    var durability: Durability { store.durability }

    var isInDoubt: Bool { store.isInDoubt }

    func admit(_ path: RelativePath, size: UInt64?, conflict: ConflictPolicy) throws(Failure) -> PublicationOutcome? {
        try store.admit(path, size: size, conflict: conflict)
    }

    func exists(_ path: RelativePath) -> Bool { store.exists(path) }

    func missingFolders(_ folder: RelativePath?, below top: RelativePath?) -> [RelativePath] {
        store.missingFolders(folder, below: top)
    }

    func checkRoom() throws(Failure) { try store.checkRoom() }

    func version(at path: RelativePath) -> ContentVersion? { store.version(at: path) }

    func isAboutToGiveWay(_ version: ContentVersion, knownAs before: ContentVersion) -> Bool {
        store.isAboutToGiveWay(version, knownAs: before)
    }

    func versions(at paths: [RelativePath]) -> [ContentVersion?] { store.versions(at: paths) }

    func versions(of names: [String], in folder: RelativePath?) -> [ContentVersion?] {
        store.versions(of: names, in: folder)
    }

    func reread(_ queries: [ContentQuery], progress: (Int) -> Bool) throws(Failure) -> [ContentReading] {
        try store.reread(queries, progress: progress)
    }

    func stage(
        id: UploadID, size: UInt64?, filled: UInt64?, permissions: UInt16?, quota: Quota?
    ) throws(Failure) -> StagedFile {
        try store.stage(id: id, size: size, filled: filled, permissions: permissions, quota: quota)
    }

    func resume(id: UploadID, size: UInt64?, filled: UInt64?, quota: Quota?) throws(Failure) -> StagedFile {
        try store.resume(id: id, size: size, filled: filled, quota: quota)
    }

    func makeAppendable(id: UploadID, size: UInt64?, declaration: [UInt8], quota: Quota?) throws(Failure)
        -> AppendableFile
    {
        try store.makeAppendable(id: id, size: size, declaration: declaration, quota: quota)
    }

    func appendable(
        id: UploadID, quota: Quota?, to target: ([UInt8]) throws(Failure) -> UploadTarget?
    ) throws(Failure) -> AppendableFile? {
        try store.appendable(id: id, quota: quota, to: target)
    }

    func publish(
        _ batch: [Publication], acknowledged: @escaping (RelativePath, ContentVersion) -> Digest?,
        mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?, touched: ([TouchedFile]) -> Void
    ) -> [Result<PublicationOutcome, Failure>] {
        store.publish(batch, acknowledged: acknowledged, mayReplace: mayReplace, touched: touched)
    }

    func hasPart(_ id: UploadID) -> Bool { store.hasPart(id) }

    func part(_ id: UploadID) -> UnfinishedPart? { store.part(id) }

    func removePart(_ id: UploadID) throws(Failure) { try store.removePart(id) }

    func removeMail(_ paths: [RelativePath]) { store.removeMail(paths) }

    func mailFiles() -> [RelativePath] { store.mailFiles() }

    func unfinished() throws(Failure) -> UnfinishedContent { try store.unfinished() }

    func removeLeftovers() throws(Failure) -> UnfinishedContent { try store.removeLeftovers() }

    func removeUnfinished(
        where isOld: (Int) -> Bool, unless isInUse: (UploadID) -> Bool
    ) throws(Failure) -> UnfinishedContent {
        try store.removeUnfinished(where: isOld, unless: isInUse)
    }
}
