package import TransferModel

/// Where accepted content lives. Synchronous and safe to call from any thread.
///
/// The intake admits a path, stages content and publishes it: that every store can. What one can and another cannot is asked for:
/// `parts`, `appends` and `rereads` are nil where a store has no such thing, and `abilities` says what else it cannot do.
///
///     admit ─► stage ─► StagedContent.write* ─► publish
package protocol ContentStore: AnyObject, Sendable {
    associatedtype Staged: StagedContent

    /// What acknowledgements of uploads to this store promise.
    var durability: Durability { get }

    /// Whether a sync has failed, so that what is found is not taken for stored until the machine is started again.
    var isInDoubt: Bool { get }

    /// What this store can, and others cannot.
    var abilities: StoreAbilities { get }

    /// Keeps the parts of multipart uploads; nil for a store that takes no uploads in parts.
    var parts: (any PartStore)? { get }

    /// Keeps append uploads; nil for a store that takes none. A store with append uploads has parts.
    var appends: (any AppendStore)? { get }

    /// Reads stored content again; nil for a store in which a copy cannot be told from what was acknowledged.
    var rereads: (any RereadStore)? { get }

    // MARK: What is stored

    /// What has the path, without a look at its content.
    ///
    /// - Returns: nil when nothing has it, or something that is no file.
    func version(at path: RelativePath) -> ContentVersion?

    /// The same for many paths at once, in their order. Those of one folder should stand together.
    func versions(at paths: [RelativePath]) -> [ContentVersion?]

    /// What has these names in one folder, in their order; nil for each where there is no such folder.
    ///
    /// - Parameter folder: nil for the top of the store.
    func versions(of names: [String], in folder: RelativePath?) -> [ContentVersion?]

    /// Whether a file is another version of what it was only because something is about to replace it, and has its content. What has been
    /// said of the version that is known holds until something else has the path.
    func isAboutToGiveWay(_ version: ContentVersion, knownAs before: ContentVersion) -> Bool

    /// Whether something has the path.
    func exists(_ path: RelativePath) -> Bool

    /// The folders that are not there of one and those above it, the lowest first.
    ///
    /// - Parameters:
    ///   - folder: nil for the top of the store.
    ///   - top: one of those above, which does not count; nil for none.
    func missingFolders(_ folder: RelativePath?, below top: RelativePath?) -> [RelativePath]

    // MARK: Storing

    /// Whether an upload with this path has a chance, before its content travels.
    ///
    /// - Parameter size: what the client declared, if it did.
    /// - Returns: `skipped` when the client asked to leave the name as it is and it is taken; nil to go on.
    /// - Throws: `invalidPath`, `pathConflict`, `storageFailed`.
    func admit(_ path: RelativePath, size: UInt64?, conflict: ConflictPolicy) throws(Failure) -> PublicationOutcome?

    /// Whether as much room is free as has to stay free, before something is written that is no content.
    ///
    /// - Throws: `insufficientStorage`.
    func checkRoom() throws(Failure)

    /// A place for the bytes of one upload, which goes with whatever holds it.
    ///
    /// - Parameters:
    ///   - size: what the client declared, or nil; for more than one block space is reserved.
    ///   - filled: bytes that are not in holes, as far as the client can tell, of content that has any; then nothing is reserved.
    ///   - quota: of the client, where it has one.
    func stage(
        id: UploadID, size: UInt64?, filled: UInt64?, permissions: UInt16?, quota: Quota?
    ) throws(Failure) -> Staged

    /// Publishes verified uploads. When this returns, those that succeeded are under the paths it names, durably if the
    /// store is, and nothing is visible of the others. A store that returns a `Settlement` promises the same when that is committed.
    ///
    /// - Parameters:
    ///   - acknowledged: the digest that a file was acknowledged with, where nobody has changed it since. An upload with
    ///     that content takes the place of one that has other content by now. Only asked about files that do.
    ///   - mayReplace: whether the sender may replace a file, where it may not replace all. Both closures may ask the records. They
    ///     read stored files only if the store has `rereads`. A store without may call them with its own lock held.
    func publish(
        _ batch: [Publication], acknowledged: @escaping (RelativePath, ContentVersion) -> Digest?,
        mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?
    ) -> PublishedBatch

    // MARK: Mail

    /// Removes content in places that `RelativePath.mail(_:)` has made, as far as that is possible. The caller is not told what of it
    /// was there, and it need not be durable.
    func removeMail(_ paths: [RelativePath])

    /// The places that `RelativePath.mail(_:)` has made and that have content.
    func mailFiles() -> [RelativePath]
}

/// Keeps what has come of uploads that are not complete, also for a later server.
package protocol PartStore: AnyObject, Sendable {
    associatedtype Staged: StagedContent

    /// What was verified of uploads in parts; nil where a server that begins finds it by `StagedContent.survey`, and no other server
    /// serves beside it.
    var records: (any PartRecords)? { get }

    /// The part of an upload, with what has arrived of it before, perhaps under an earlier server. The caller must see to it that no
    /// other thread has it.
    ///
    /// - Parameter filled: as in `ContentStore.stage`.
    func resume(id: UploadID, size: UInt64?, filled: UInt64?, quota: Quota?) throws(Failure) -> Staged

    /// Whether there is a part of the upload that a client could go on with, or what says what has become of it. One that cannot
    /// be looked at counts.
    func hasPart(_ id: UploadID) -> Bool

    /// The part of an unfinished upload, without a look at its content; nil when there is none.
    func part(_ id: UploadID) -> UnfinishedPart?

    /// Throws the part of an upload away, if there is one. The caller must see to it that no other thread has it.
    func removePart(_ id: UploadID) throws(Failure)

    /// What there is of unfinished uploads.
    func unfinished() throws(Failure) -> UnfinishedContent

    /// Removes what no client can resume. To be called before the first upload.
    func removeLeftovers() throws(Failure) -> UnfinishedContent

    /// Removes unfinished uploads that nothing was added to for long.
    ///
    /// - Parameters:
    ///   - isOld: whether what was written last at a moment goes: seconds since 1970.
    ///   - isInUse: whether a connection works on the upload.
    func removeUnfinished(
        where isOld: (Int) -> Bool, unless isInUse: (UploadID) -> Bool
    ) throws(Failure) -> UnfinishedContent
}

extension PartStore {
    package var records: (any PartRecords)? { nil }
}

/// Keeps uploads that grow at their end, and how far each is durable. Its uploads are among the parts of `PartStore`.
package protocol AppendStore: AnyObject, Sendable {
    associatedtype Appendable: AppendableContent

    /// Makes a place for an append upload. Nothing of it is durable before it is first kept.
    ///
    /// - Parameter declaration: what `AppendableContent.declaration` gives back, also under a later server.
    func makeAppendable(id: UploadID, size: UInt64?, declaration: [UInt8], quota: Quota?) throws(Failure) -> Appendable

    /// One that was begun before, perhaps under an earlier server. The caller must see to it that no other thread has it.
    ///
    /// - Parameter target: where an upload that was declared so goes; nil for one that has ended, or goes nowhere. There the
    ///   one is found that was published and never ended, because the server has died.
    /// - Returns: nil where there is none.
    func appendable(
        id: UploadID, quota: Quota?, to target: (_ declaration: [UInt8]) throws(Failure) -> UploadTarget?
    ) throws(Failure) -> Appendable?
}

/// Reads stored content again, so that what was acknowledged can hold in a copy of it.
package protocol RereadStore: AnyObject, Sendable {
    /// Reads stored files again, once they and their names are as durable as the store is.
    ///
    /// - Parameter progress: is told of every piece that was read, in bytes; false ends it.
    /// - Returns: one reading for each query, in their order.
    /// - Throws: where nothing that is read proves anything now.
    func reread(_ queries: [ContentQuery], progress: (Int) -> Bool) throws(Failure) -> [ContentReading]
}

/// What came of publications that were published together.
package struct PublishedBatch {
    /// One for each publication, in order.
    package let outcomes: [Result<PublicationOutcome, Failure>]

    /// Files that have their paths still, though they were about to be replaced, and are other versions by now.
    package let touched: [TouchedFile]

    /// Lets `ContentStore.isAboutToGiveWay` know the versions of these files from before, as long as it lives: until the records have the
    /// new versions.
    package let keeping: (any AnyObject & Sendable)?

    /// Commits the publications together with their mail and records; nil if they are published for good.
    package let settlement: (any Settlement)?

    package init(
        outcomes: [Result<PublicationOutcome, Failure>], touched: [TouchedFile] = [],
        keeping: (any AnyObject & Sendable)? = nil, settlement: (any Settlement)? = nil
    ) {
        (self.outcomes, self.touched, self.keeping) = (outcomes, touched, keeping)
        self.settlement = settlement
    }
}

/// What a store can do and others cannot, and how much of it at once. It is asked for once, when the server starts.
package struct StoreAbilities: Equatable, Sendable {
    /// Whether others store into it as well: other servers over the same records. What this process has in memory then proves that an
    /// upload was acknowledged, and never that it was not.
    package var isShared = false

    /// Uploads that are published together at most; nil where each of them holds a descriptor, so that the server's bound counts
    /// (`Intake.Configuration.filesAtOnce`).
    package var uploadsAtOnce: Int?

    /// Threads that may wait while the store publishes; nil where as many are enough as a disk keeps busy
    /// (`ServerConfiguration.blockingThreads`).
    package var waitingThreads: Int?

    /// Whether a part of an upload may be a piece of a block.
    package var takesPieces = true

    /// Whether content may have holes, which take no room (`StagedContent.clear`).
    package var takesHoles = true

    /// Whether a file can have a second name.
    package var linksFiles = true

    /// Whether files can be given owners.
    package var keepsOwners = true

    /// Whether the parts of an upload may come in any order. Without, each has to begin where the last one ended.
    package var writesAnywhere: Bool

    /// Whether it can see to it that publishing replaces nothing. Without, uploads replace what has their name, or are refused.
    package var replacesNothing: Bool

    /// Bytes that a part of an upload has at least, unless it is the last one.
    package var leastPart: UInt64

    package init(writesAnywhere: Bool = true, replacesNothing: Bool = true, leastPart: UInt64 = 0) {
        (self.writesAnywhere, self.replacesNothing) = (writesAnywhere, replacesNothing)
        self.leastPart = leastPart
    }
}

/// The part of an upload that is not complete.
package struct UnfinishedPart: Equatable, Sendable {
    /// Bytes that there are of it, with what is reserved for it.
    package let size: UInt64

    /// When something was last added to it; UTC, in nanoseconds since 1970.
    package let written: Int64

    package init(size: UInt64, written: Int64) {
        (self.size, self.written) = (size, written)
    }
}

/// Content of uploads that are not complete.
package struct UnfinishedContent: Equatable, Sendable {
    /// How many there may be: what is listed in a few milliseconds.
    package static let mostParts = 16_384

    package var count = 0

    /// Bytes that it takes.
    package var bytes: UInt64 = 0

    package init() {}

    package mutating func add(_ other: UnfinishedContent) {
        count += other.count
        bytes = bytes.addingClamped(other.bytes)
    }
}

/// What an acknowledgement promises about a crash of the machine.
package enum Durability: CaseIterable, Sendable {
    /// The upload is on disk, with its name, when it is acknowledged.
    case commit
    /// Nothing: the kernel writes it when it likes. After a crash a name may stand for less than its content.
    case none
}

/// Where an upload goes that is not complete, and what is done about names that are taken.
package typealias UploadTarget = (path: RelativePath, conflict: ConflictPolicy)

/// A file that is gone.
package struct RemovedFile: Sendable {
    package let path: RelativePath
    package let version: ContentVersion

    /// Whether its content is gone, and not only one of several names.
    package let isLast: Bool

    package init(path: RelativePath, version: ContentVersion, isLast: Bool) {
        (self.path, self.version, self.isLast) = (path, version, isLast)
    }
}
