import TransferModel
import TransferPorts
import TransferStore
import TransferSystem

/// A directory that takes parts with the abilities of a limited store (`SkeletonStore` takes no parts).
final class LimitedStore: ContentStore {
    let abilities: StoreAbilities
    private let store: FileStore

    init(_ store: FileStore, _ abilities: StoreAbilities) { (self.store, self.abilities) = (store, abilities) }

    var parts: (any PartStore)? { store }
    var appends: (any AppendStore)? { store }
    var rereads: (any RereadStore)? { store }

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

    func stage(
        id: UploadID, size: UInt64?, filled: UInt64?, permissions: UInt16?, quota: Quota?
    ) throws(Failure) -> StagedFile {
        try store.stage(id: id, size: size, filled: filled, permissions: permissions, quota: quota)
    }

    func publish(
        _ batch: [Publication], acknowledged: @escaping (RelativePath, ContentVersion) -> Digest?,
        mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?
    ) -> PublishedBatch {
        store.publish(batch, acknowledged: acknowledged, mayReplace: mayReplace)
    }

    func removeMail(_ paths: [RelativePath]) { store.removeMail(paths) }

    func mailFiles() -> [RelativePath] { store.mailFiles() }
}
