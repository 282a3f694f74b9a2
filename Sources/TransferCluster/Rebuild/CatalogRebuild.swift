import TransferCodec
package import TransferModel
package import TransferObjects
import TransferPorts
import TransferSystem

/// Makes the database of a cluster again from its bucket alone, if the database and its backups are lost.
///
/// Each object says which uploads it belongs to (`ObjectFooter`), and the uploads are published once more, in their
/// order and with their own conflict policy. So files of one name get numbered names again, and replaced content that
/// is still in the bucket is in the trash. An upload that would be skipped or refused gets a numbered name: a file
/// that was in its way then may have been removed before.
///
/// The bucket does not know what happened to files later: moved files come back under their first path, and removed
/// files come back if others in their pack have kept the pack. Mail, receipts, unfinished uploads, symbolic links,
/// empty folders and access lists are not in the bucket. Objects that no file needs stay, because some of them may have
/// been made by another program.
///
///     note the beginning ─► survey the bucket ─► hold the objects ─► publish ─► release the objects ─► note the end
///
/// No server may use the bucket meanwhile, and none starts before the end is noted (`ClusterNotes`). If the rebuild ends
/// with an error, the next one empties the database and begins again. In the incomplete one, no object is ever deleted,
/// because the objects are still held.
package struct CatalogRebuild {
    /// What a rebuild has found and made.
    package struct Report: Equatable, Sendable {
        package var objects = 0

        /// Files that were made, with all their bytes.
        package var files = 0
        package var bytes: UInt64 = 0

        /// Files whose path already had their content.
        package var alreadyStored = 0

        /// Files that got another name than they asked for, because their path has another file or a folder.
        package var renamed = 0

        /// Files that were replaced by newer ones and are in the trash.
        package var trashed = 0

        /// Contents of mails, which are left out.
        package var mails = 0

        /// Described files whose bytes are not there any more.
        package var gone = 0

        /// Uploads that could not be stored, with the reason.
        package var refused: [(id: UploadID, reason: String)] = []

        /// Keys of objects that this program does not understand.
        package var unknown: [ObjectKey] = []

        /// Objects that no file needs, among them those of unfinished uploads, and their bytes.
        package var unused = 0
        package var unusedBytes: UInt64 = 0

        package static func == (a: Report, b: Report) -> Bool {
            (a.objects, a.files, a.bytes, a.alreadyStored, a.renamed, a.trashed)
                == (b.objects, b.files, b.bytes, b.alreadyStored, b.renamed, b.trashed)
                && (a.mails, a.gone, a.unused, a.unusedBytes) == (b.mails, b.gone, b.unused, b.unusedBytes)
                && a.unknown == b.unknown && a.refused.map(\.id) == b.refused.map(\.id)
        }
    }

    /// What a rebuild is doing.
    package enum Progress: Equatable, Sendable {
        /// So many objects were read.
        case read(objects: Int)
        /// So many files of all were stored.
        case stored(files: Int, of: Int)
    }

    /// Files that are stored in one transaction.
    private static let batch = 1024

    /// Rows of objects that are written in one transaction.
    private static let rows = 4096

    private let bucket: any ObjectStore
    private let ledger: any ClusterLedger
    private let store: ClusterStore
    private let trash: OpenTrashBatch
    private let progress: (Progress) -> Void
    private var report = Report()

    private init(
        _ bucket: any ObjectStore, _ ledger: any ClusterLedger, utc: @escaping @Sendable () -> Int64,
        _ progress: @escaping (Progress) -> Void
    ) throws(Failure) {
        let scratch: ScratchSpace
        do throws(SystemError) { scratch = try ScratchSpace(path: nil) } catch {
            throw Failure(.storageFailed, "\(error)")
        }
        var configuration = ClusterStore.Configuration(server: "rebuild")
        configuration.utc = utc
        (self.bucket, self.ledger, self.progress) = (bucket, ledger, progress)
        store = try ClusterStore(bucket, ledger, scratch: scratch, configuration)
        trash = OpenTrashBatch(utc: utc)
    }

    /// Reads the bucket and fills the database.
    ///
    /// - Parameters:
    ///   - ledger: a database without rows, or one that an earlier rebuild has begun to fill.
    ///   - utc: the current time in nanoseconds since 1970.
    ///   - progress: called some times a second with what was done so far.
    /// - Throws: `pathConflict` if the database has files, uploads or mails, before anything is written; an error of the
    ///   bucket or of the database.
    package static func run(
        _ bucket: any ObjectStore, _ ledger: any ClusterLedger,
        utc: @escaping @Sendable () -> Int64 = utcNanoseconds, progress: @escaping (Progress) -> Void = { _ in }
    ) throws(Failure) -> Report {
        let notes = ClusterNotes(ledger)
        do throws(LedgerError) {
            // The rows of an interrupted rebuild are not needed, because the bucket still has everything.
            if try notes.isRebuilding() { try ledger.discardContents() }
        } catch {
            throw Failure(ledger: error)
        }
        var rebuild = try CatalogRebuild(bucket, ledger, utc: utc, progress)
        try rebuild.requireEmpty()
        return try rebuild.run(notes)
    }

    private mutating func run(_ notes: ClusterNotes) throws(Failure) -> Report {
        try store.ask { () throws(LedgerError) in try notes.write(isRebuilding: true) }
        let survey = try BucketSurvey(bucket) { [progress] in progress(.read(objects: $0)) }
        report.objects = survey.objects.count
        (report.gone, report.alreadyStored, report.unknown) = (survey.gone, survey.repeated, survey.unknown)
        let files = survey.files.filter { file in
            let isMail = RelativePath(mail: file.described.path) != nil
            if isMail { report.mails += 1 }
            return !isMail
        }
        let needed = Set(files.flatMap { [$0.object] + $0.described.extents.map(\.object) })
        for (number, object) in survey.objects where !needed.contains(number) {
            report.unused += 1
            report.unusedBytes = report.unusedBytes.addingClamped(object.size)
        }
        let held = try hold(needed, survey)
        for start in stride(from: 0, to: files.count, by: Self.batch) {
            try publish(files[start..<min(files.count, start + Self.batch)])
            progress(.stored(files: min(files.count, start + Self.batch), of: files.count))
        }
        try release(held)
        try store.ask { () throws(LedgerError) in try notes.write(isRebuilding: false) }
        return report
    }

    private func requireEmpty() throws(Failure) {
        let isEmpty = try store.ask { () throws(LedgerError) in
            guard try ledger.list(NodeRow.top, after: nil, limit: 1).isEmpty,
                try ledger.entries(after: 0, limit: 1).isEmpty, try ledger.uploads().isEmpty
            else { return false }
            return try ledger.waiting(for: nil).count == 0
        }
        guard isEmpty else {
            throw Failure(
                .pathConflict, "The database has files or uploads already; a catalog is only rebuilt into an empty one."
            )
        }
    }

    // MARK: Objects

    /// Records all epochs as swept, so that no sweeper deletes objects that have no row yet, and no server takes numbers
    /// that are in the bucket. Records the objects with one live byte more than they have, so that none of them is
    /// unused before all files are there.
    private func hold(_ needed: Set<ObjectNumber>, _ survey: BucketSurvey) throws(Failure) -> [ObjectNumber] {
        let numbers = needed.sorted()
        var rows: [ObjectRow] = []
        for number in numbers {
            guard let object = survey.objects[number] else { continue }
            rows.append(ObjectRow(number, size: object.content == nil ? object.size : object.live, live: 1))
        }
        let epochs = survey.epochs.values.sorted { $0.number < $1.number }
        try store.ask { () throws(LedgerError) in
            try ledger.adopt(epochs, [])
            for start in stride(from: 0, to: rows.count, by: Self.rows) {
                try ledger.adopt([], Array(rows[start..<min(rows.count, start + Self.rows)]))
            }
        }
        return rows.map(\.number)
    }

    private func release(_ held: [ObjectNumber]) throws(Failure) {
        for start in stride(from: 0, to: held.count, by: Self.rows) {
            var changes = LedgerChanges()
            for number in held[start..<min(held.count, start + Self.rows)] { changes.count(-1, of: number) }
            try store.ask { () throws(LedgerError) in try ledger.apply(changes) }
        }
    }

    // MARK: Files

    /// Stores files and their entries in one transaction.
    private mutating func publish(_ files: ArraySlice<BucketSurvey.File>) throws(Failure) {
        var view = store.view()
        let wanted = files.compactMap { RelativePath(stored: $0.described.path) }
        try store.ask { () throws(LedgerError) in try view.load(wanted) }
        var entries: [EntryRow] = []
        for file in files {
            do throws(ViewError) {
                if let entry = try publish(file, in: &view) { entries.append(entry) }
            } catch {
                guard case .failure(let failure) = error else { throw error.failure }
                report.refused.append((file.described.id, failure.message))
            }
        }
        var changes: LedgerChanges
        do throws(LedgerError) { changes = try view.changes { _ in [] } } catch { throw Failure(ledger: error) }
        changes.entries = entries
        guard !changes.isEmpty else { return }
        try store.ask { () throws(LedgerError) in try ledger.apply(changes) }
    }

    /// - Returns: the entry of the upload; nil without one.
    private mutating func publish(_ file: BucketSurvey.File, in view: inout TreeView) throws(ViewError) -> EntryRow? {
        let described = file.described
        guard let path = RelativePath(stored: described.path) else {
            throw .failure(Failure(.invalidPath, "The upload has a path that this program does not permit."))
        }
        var publication = Publication(
            staged: ClusterStaged(of: store, for: described.id, sharing: described.extents), id: described.id,
            path: path, size: described.size, digest: described.digest,
            conflict: described.conflict == .overwrite ? .overwrite : .keepBoth, modified: described.modified,
            permissions: described.permissions)
        publication.keepsPermissions = described.keepsPermissions
        publication.attributes = described.attributes
        publication.trash = trash
        let (stored, version, state, isReplacing) = try place(publication, file.content, described.moment, in: &view)
        switch state {
        case .alreadyStored: report.alreadyStored += 1
        case .committed:
            report.files += 1
            report.bytes = report.bytes.addingClamped(described.size)
            if isReplacing { report.trashed += 1 }
            if stored != path { report.renamed += 1 }
        }
        guard let version else { return nil }
        let entry = CatalogEntry(
            id: described.id, state: state, path: stored.string, kind: described.origin.kind, size: described.size,
            digest: described.digest, isDurable: true, sender: described.origin.sender,
            client: described.origin.client, begun: described.moment, committed: described.moment,
            run: described.origin.run, version: version, hasReplaced: isReplacing)
        return EntryRow(entry, node: version.object)
    }

    private typealias Placed = (
        path: RelativePath, version: ContentVersion?, state: CatalogEntry.State, isReplacing: Bool
    )

    private func place(
        _ publication: Publication, _ content: PlacedContent, _ moment: Int64, in view: inout TreeView
    ) throws(ViewError) -> Placed {
        var publication = publication
        publication.path = try freeOfFiles(publication.path, in: &view)
        if publication.conflict == .overwrite, try view.looking(at: publication.path)?.isFolder == true {
            publication.conflict = .keepBoth
        }
        let number: UInt64
        do throws(LedgerError) { number = try store.objects.numbers.next() } catch { throw .ledger(error) }
        let step = PublicationStep(
            publication: publication, content: content, new: .init(number: number, moment: moment), mayReplace: nil,
            store: store)
        let result = try step.place(in: &view)
        switch result.outcome {
        case .committed(let path, let version), .restored(let path, let version), .healed(let path, let version):
            return (path, version, .committed, result.replaced != nil)
        case .alreadyStored(let path, let version): return (path, version, .alreadyStored, false)
        case .skipped: throw .failure(Failure(.pathConflict, "\(publication.path) exists already."))
        }
    }

    /// The path with other names for the folders that have the names of files: a file and a folder had one path at
    /// different times.
    private func freeOfFiles(_ path: RelativePath, in view: inout TreeView) throws(ViewError) -> RelativePath {
        guard let folder = path.parent else { return path }
        var free = try freeOfFiles(folder, in: &view)
        let wanted = free
        var number = 0
        while let there = try view.looking(at: free), !there.isFolder {
            number += 1
            guard number <= ConflictPolicy.mostNumbers, let next = try? wanted.numbered(number) else {
                throw .failure(Failure(.pathConflict, "\(folder) is a file, and no numbered name is possible."))
            }
            free = next
        }
        guard let moved = RelativePath.child(String(path.name), of: free) else {
            throw .failure(Failure(.invalidPath, "\(path) would be too long below \(free)."))
        }
        return moved
    }
}

extension BucketSurvey.File {
    /// Where the bytes are, in the form in which a file's row has it.
    fileprivate var content: PlacedContent {
        let size = described.size
        let row = ObjectRow(object, size: 0, live: 0)
        let whole = described.isWhole(in: object) ? described.extents[0] : nil
        return PlacedContent(whole == nil ? described.extents : [], [], size: size)
            .joined(with: whole, describedIn: row, size: size)
    }
}
