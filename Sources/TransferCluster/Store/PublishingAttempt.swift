import TransferModel
import TransferPorts
import TransferSystem

/// A batch whose content is in the bucket and whose names are decided, but not written: nothing of it is visible before
/// `commit`. Used by one thread.
final class PublishingAttempt: Settlement {
    private let batch: [Publication]
    private var contents: [Result<PlacedContent, Failure>]
    private let mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?
    private let store: ClusterStore
    /// The number and the time of each file, if it is made. They stay the same if the paths are decided once more, so
    /// that what was signed and recorded stays true.
    private let identities: [Result<PublicationStep.NewFile, LedgerError>]
    private(set) var outcomes: [Result<PublicationOutcome, Failure>] = []
    private var replaced: [PublicationStep.Replaced?] = []
    /// The tree with the files of the batch.
    private var view: TreeView
    private var mails: QueuedMails?
    /// Files that were moved since uploads of the batch were stored.
    private var outlived: Set<UInt64> = []
    /// Whether the content is published, or may be.
    private var isOver = false

    init(
        _ batch: [Publication], _ contents: [Result<PlacedContent, Failure>], at moment: Int64, seen: SeenNodes?,
        mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?, in store: ClusterStore
    ) {
        (self.batch, self.contents, self.mayReplace, self.store) = (batch, contents, mayReplace, store)
        identities = batch.map { _ in
            Result { () throws(LedgerError) in
                PublicationStep.NewFile(number: try store.objects.numbers.next(), moment: moment)
            }
        }
        view = store.view()
        decide(by: seen)
        showReplaced()
    }

    deinit {
        guard !isOver else { return }
        // An upload in parts can be resumed.
        for publication in batch { (publication.content as? ClusterStaged)?.discardUnlessResumable() }
    }

    // MARK: Deciding

    /// Decides the path of each publication, by the names that are there now.
    ///
    /// - Parameter seen: the names that were there before the content was stored; what has changed since is a conflict.
    private func decide(by seen: SeenNodes? = nil) {
        view = store.view(seen)
        do throws(LedgerError) {
            try view.load(batch.map(\.path))
            view.rely(on: contents.compactMap { try? $0.get().source })
        } catch {
            outcomes = batch.map { _ in .failure(Failure(ledger: error)) }
            replaced = batch.map { _ in nil }
            return
        }
        (outcomes, replaced) = ([], [])
        for (index, publication) in batch.enumerated() {
            do throws(Failure) {
                let result = try place(publication, index, in: &view)
                outcomes.append(.success(result.outcome))
                replaced.append(result.replaced)
            } catch {
                outcomes.append(.failure(error))
                replaced.append(nil)
            }
        }
    }

    private func place(
        _ publication: Publication, _ index: Int, in view: inout TreeView
    ) throws(Failure) -> PublicationStep.Result {
        let new: PublicationStep.NewFile
        do throws(LedgerError) { new = try identities[index].get() } catch { throw Failure(ledger: error) }
        let step = PublicationStep(
            publication: publication, content: try contents[index].get(), new: new, mayReplace: mayReplace,
            store: store)
        do throws(ViewError) { return try step.place(in: &view) } catch { throw error.failure }
    }

    /// What has to be written for what was decided.
    private func changes() throws(LedgerError) -> LedgerChanges {
        var changes = try view.changes { (number) throws(LedgerError) in try store.ledger.extents(of: number) }
        for (content, outcome) in zip(contents, outcomes) {
            guard let content = try? content.get(), outcome.isFinal else { continue }
            if let upload = content.upload { changes.ended[upload.row.id] = upload.row.epoch }
            Self.add(content.objects, to: &changes)
        }
        changes.mail = mails?.changes
        return changes
    }

    /// Adds the objects that the made files are in. Those of contents that were not needed get no row.
    private static func add(_ objects: [ObjectRow], to changes: inout LedgerChanges) {
        for object in objects {
            guard let live = changes.live[object.number], live > 0 else { continue }
            changes.live[object.number] = nil
            changes.epochs.insert(object.number.epoch)
            changes.objects.append(ObjectRow(object.number, size: object.size, live: UInt64(live)))
        }
    }

    /// Shows the files that will have been replaced, because the receipts and records name them.
    private func showReplaced() {
        for (publication, replaced) in zip(batch, replaced) {
            (publication.content as? ClusterStaged)?.willReplace(replaced.map { $0.freed }, kept: replaced?.kept)
        }
    }

    // MARK: Settlement

    /// The mails of a batch, and what was decided about them.
    private struct QueuedMails {
        let sent: [(mail: Mail, recipients: [String])]
        let limits: MailLimits
        var results: [QueuedMail] = []
        var changes: MailChanges?
    }

    func queue(
        _ mails: [(mail: Mail, recipients: [String])], _ limits: MailLimits
    ) throws(RecordsError) -> [QueuedMail] {
        do throws(LedgerError) {
            return try decide(QueuedMails(sent: mails, limits: limits))
        } catch {
            throw RecordsError(ledger: error)
        }
    }

    /// Puts mails into mailboxes, and removes content that no recipient needs.
    private func decide(_ wanted: QueuedMails) throws(LedgerError) -> [QueuedMail] {
        var queued = wanted
        let ids = queued.sent.map(\.mail.id)
        var mailboxes = Mailboxes(try store.ledger.mailFacts(ids, queued.sent.flatMap(\.recipients)))
        try view.load(ids.compactMap { mailboxes.mail($0)?.path })
        queued.results = queued.sent.map { mail, recipients in
            mailboxes.queue(mail, to: recipients, queued.limits) { view.knownNode(at: $0) != nil }
        }
        for ((mail, _), result) in zip(queued.sent, queued.results) {
            switch result {
            case .queued(_, let isKept, let freed):
                if !isKept { try remove(mail.path) }
                if let freed { try remove(freed.path) }
            case .refused: try remove(mail.path)
            }
        }
        queued.changes = mailboxes.changes
        mails = queued
        return queued.results
    }

    private func remove(_ path: RelativePath) throws(LedgerError) {
        if let node = try view.node(at: path) { view.remove(node) }
    }

    func commit(_ entries: [CatalogEntry], with receipts: SignedBatch?) throws(RecordsError) {
        let rows = entries.compactMap { entry in entry.version.map { EntryRow(entry, node: $0.object) } }
        do throws(LedgerError) {
            try apply { changes in
                // A file that a later upload of the batch has replaced is gone, and so is its entry.
                changes.entries = rows.filter { row in
                    changes.made[row.node] != nil || changes.expected[row.node] != nil
                }
                (changes.receipts, changes.outlived) = (receipts, outlived)
                changes.sound = Set(changes.entries.lazy.map(\.node)).subtracting(changes.made.keys)
            }
        } catch {
            // The intake discards what it could not store, which must not delete objects that files may have.
            if isOver { for publication in batch { (publication.content as? ClusterStaged)?.abandon() } }
            throw RecordsError(ledger: error)
        }
        for (index, publication) in batch.enumerated() {
            guard let staged = publication.content as? ClusterStaged else { continue }
            switch outcomes[index] {
            case .success(.committed), .success(.restored), .success(.healed):
                let replaced = replaced[index]
                staged.published(publication.size, replacing: replaced?.freed, kept: replaced?.kept)
            case .success(.alreadyStored), .success(.skipped): staged.discard()
            case .failure: if outcomes[index].isFinal { staged.discard() } else { staged.discardUnlessResumable() }
            }
        }
    }

    /// Applies the changes. If others have changed what was looked at, the paths are decided once more, and the batch
    /// is stored if its outcomes are still the same.
    ///
    /// - Parameter complete: adds the records to the changes.
    private func apply(_ complete: (inout LedgerChanges) -> Void) throws(LedgerError) {
        let promised = (outcomes, replaced.map(\.?.place), mails?.results)
        var mayBeMade = false
        for _ in 0..<ClusterStore.mostAttempts {
            var changes = try changes()
            complete(&changes)
            do throws(LedgerError) {
                try store.ledger.settle(changes, since: view.term)
                isOver = true
                return
            } catch {
                switch error.reason {
                case .unknown: (mayBeMade, isOver) = (true, true)
                case .conflict: break
                case .epochClosed:
                    store.objects.numbers.abandon()
                    throw error
                default: throw error
                }
                if mayBeMade, try isMade(changes) { return }
                if error.reason == .conflict {
                    try findSources()
                    let (earlier, seen) = try look(changes.entries)
                    decide(by: seen)
                    if let mails { _ = try decide(mails) }
                    try rely(on: earlier, of: changes.entries)
                }
                guard outcomes == promised.0, replaced.map(\.?.place) == promised.1, mails?.results == promised.2 else {
                    throw error
                }
            }
        }
        throw LedgerError(.conflict, "Other clients change the same files all the time; try again.")
    }

    /// Looks at the paths of the batch once more, and for entries with the IDs of these uploads.
    private func look(_ entries: [EntryRow]) throws(LedgerError) -> (earlier: [LedgerEntry], seen: SeenNodes) {
        var paths = LedgerPaths()
        for publication in batch { paths.add(publication.path) }
        let term = store.ledger.term
        let (earlier, nodes) = try store.ledger.entries(entries.map(\.entry.id), looking: paths)
        return (earlier.compactMap(\.self), SeenNodes(paths: paths, nodes: nodes, term: term))
    }

    /// Lets entries replace earlier ones with their IDs, whose files were moved since.
    ///
    /// - Throws: `conflict` if another server has stored an upload meanwhile.
    private func rely(on earlier: [LedgerEntry], of entries: [EntryRow]) throws(LedgerError) {
        outlived = []
        guard !earlier.isEmpty else { return }
        let paths = try store.ledger.paths(of: earlier.map(\.node))
        let nodes = try store.ledger.nodes(earlier.map(\.node))
        let stored = Set(entries.map(\.node))
        for (entry, (names, node)) in zip(earlier, zip(paths, nodes)) where !stored.contains(entry.node) {
            guard let names, let node else { continue }
            guard PathHash(names.map(\.string).joined(separator: "/")) != entry.path || view.isRemoved(node.number)
            else {
                throw LedgerError(.conflict, "Another server has stored the upload \(entry.entry.id) meanwhile.")
            }
            view.rely(on: [node])
            if !view.isRemoved(node.number) { outlived.insert(node.number) }
        }
    }

    /// Finds the content that copies share: the sweeper may have moved it to another object.
    private func findSources() throws(LedgerError) {
        let sources = contents.compactMap { try? $0.get().source?.number }
        guard !sources.isEmpty else { return }
        let found = try store.ledger.nodes(sources).compactMap(\.self)
        let nodes = Dictionary(found.map { ($0.number, $0) }) { first, _ in first }
        for (index, content) in contents.enumerated() {
            guard case .success(var placed) = content, let source = placed.source, let node = nodes[source.number],
                node.touch != source.touch
            else { continue }
            placed.source = node
            if case .extents = placed.bytes {
                switch node.file?.content {
                case .whole(let object, let start)?:
                    placed.extents = [Extent(0..<(node.file?.size ?? 0), in: object, from: start)]
                case .extents?: placed.extents = try store.ledger.extents(of: node.number)
                case nil: continue
                }
            }
            contents[index] = .success(placed)
        }
    }

    /// Whether an attempt whose answer was lost has made the changes.
    private func isMade(_ changes: LedgerChanges) throws(LedgerError) -> Bool {
        // Without a new file the changes only remove and record, and doing so again has the same result.
        guard let number = changes.made.keys.first else { return false }
        let term = store.ledger.term
        guard try store.ledger.nodes([number])[0] != nil else { return false }
        try store.ledger.awaitDurability(of: term)
        return true
    }
}

extension RecordsError {
    init(ledger error: LedgerError) {
        switch error.reason {
        case .conflict, .epochClosed, .unknown: self.init(.busy, error.message)
        case .unavailable, .readOnly, .refused: self.init(.unavailable, error.message)
        case .full: self.init(.full, error.message)
        case .damaged: self.init(.damaged, error.message)
        }
    }
}
