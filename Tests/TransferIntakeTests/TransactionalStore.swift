import TransferCatalog
import TransferLedger
import TransferModel
import TransferPorts
import TransferSystem

/// A `SkeletonStore` that keeps names, mail and records in one transaction, as a database does. It treats each mail as
/// new.
final class TransactionalStore: ContentStore {
    typealias Staged = SkeletonContent

    fileprivate struct State {
        /// State of the store before the open transaction.
        var before: SkeletonStore.State?
        var commits = 0
        var failing = false
        var refusesMail = false
    }

    let store = SkeletonStore()
    let catalog: Catalog
    let ledger: MailLedger
    fileprivate let state = Locked(State())

    init(_ catalog: Catalog, _ ledger: MailLedger) { (self.catalog, self.ledger) = (catalog, ledger) }

    var isOpen: Bool { state.withLock { $0.before != nil } }

    /// Number of transactions committed so far.
    var commits: Int { state.withLock { $0.commits } }

    /// Whether every commit of a transaction fails.
    var isFailing: Bool {
        get { state.withLock { $0.failing } }
        set { state.withLock { $0.failing = newValue } }
    }

    /// Whether every transaction refuses mail.
    var refusesMail: Bool {
        get { state.withLock { $0.refusesMail } }
        set { state.withLock { $0.refusesMail = newValue } }
    }

    func publish(
        _ batch: [Publication], acknowledged: @escaping (RelativePath, ContentVersion) -> Digest?,
        mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?
    ) -> PublishedBatch {
        state.withLock { $0.before = store.snapshot }
        let outcomes = store.publish(batch, acknowledged: acknowledged, mayReplace: mayReplace).outcomes
        return PublishedBatch(outcomes: outcomes, settlement: Transaction(self))
    }

    private final class Transaction: Settlement {
        private let store: TransactionalStore
        private var mails: [(mail: Mail, recipients: [String])] = []
        private var limits = MailLimits(bytes: 0)

        init(_ store: TransactionalStore) { self.store = store }

        deinit { store.rollBack() }

        func queue(
            _ mails: [(mail: Mail, recipients: [String])], _ limits: MailLimits
        ) throws(RecordsError) -> [QueuedMail] {
            guard !store.refusesMail else { throw RecordsError(.failed, "The table of mails is gone.") }
            (self.mails, self.limits) = (mails, limits)
            return mails.map { .queued(fresh: $0.recipients, isKept: true, freed: nil) }
        }

        func commit(_ entries: [CatalogEntry], with receipts: SignedBatch?) throws(RecordsError) {
            guard !store.isFailing else { throw RecordsError(.failed, "The database is gone.") }
            try store.catalog.record(entries, with: receipts)
            if !mails.isEmpty { _ = try store.ledger.queue(mails, limits) { _ in true } }
            store.state.withLock { state in
                state.before = nil
                state.commits += 1
            }
        }
    }

    private func rollBack() {
        let before = state.withLock { state in
            defer { state.before = nil }
            return state.before
        }
        if let before { store.snapshot = before }
    }

    // MARK: Like SkeletonStore

    var abilities: StoreAbilities { store.abilities }
    var parts: (any PartStore)? { nil }
    var appends: (any AppendStore)? { nil }
    var rereads: (any RereadStore)? { nil }
    let durability = Durability.commit
    let isInDoubt = false

    func admit(_ path: RelativePath, size: UInt64?, conflict: ConflictPolicy) throws(Failure) -> PublicationOutcome? {
        try store.admit(path, size: size, conflict: conflict)
    }

    func checkRoom() throws(Failure) {}

    func stage(
        id: UploadID, size: UInt64?, filled: UInt64?, permissions: UInt16?, quota: Quota?
    ) throws(Failure) -> SkeletonContent {
        try store.stage(id: id, size: size, filled: filled, permissions: permissions, quota: quota)
    }

    func version(at path: RelativePath) -> ContentVersion? { store.version(at: path) }
    func versions(at paths: [RelativePath]) -> [ContentVersion?] { store.versions(at: paths) }

    func versions(of names: [String], in folder: RelativePath?) -> [ContentVersion?] {
        store.versions(of: names, in: folder)
    }

    func isAboutToGiveWay(_ version: ContentVersion, knownAs before: ContentVersion) -> Bool { false }
    func exists(_ path: RelativePath) -> Bool { store.exists(path) }

    func missingFolders(_ folder: RelativePath?, below top: RelativePath?) -> [RelativePath] {
        store.missingFolders(folder, below: top)
    }

    func mailFiles() -> [RelativePath] { store.mailFiles() }
    func removeMail(_ paths: [RelativePath]) { store.removeMail(paths) }
}
