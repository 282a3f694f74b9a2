package import TransferModel

/// Where accepted content is stored. Synchronous and safe to call from any thread.
///
/// The intake admits a path, stages content and publishes it; every store can do that. What only some stores can do is
/// optional: `parts`, `appends` and `rereads` are nil in a store without them, and `abilities` says what else it can
/// do.
///
///     admit ─► stage ─► StagedContent.write* ─► publish
package protocol ContentStore: AnyObject, Sendable {
    associatedtype Staged: StagedContent

    /// What acknowledgements of uploads to this store promise.
    var durability: Durability { get }

    /// Whether a sync has failed. After that, no file that is found counts as stored until the machine is started
    /// again.
    var isInDoubt: Bool { get }

    /// What this store can do and other stores cannot.
    var abilities: StoreAbilities { get }

    /// Keeps the parts of multipart uploads; nil for a store that takes no multipart uploads.
    var parts: (any PartStore)? { get }

    /// Keeps append uploads; nil for a store that takes none. A store with append uploads also has `parts`.
    var appends: (any AppendStore)? { get }

    /// Reads stored content again; nil for a store that cannot recognise a copy of itself.
    var rereads: (any RereadStore)? { get }

    // MARK: What is stored

    /// The version of the file at a path. The content is not read.
    ///
    /// - Returns: nil if there is no file at the path.
    func version(at path: RelativePath) -> ContentVersion?

    /// The versions of the files at many paths, in their order. Paths in the same folder should be adjacent.
    func versions(at paths: [RelativePath]) -> [ContentVersion?]

    /// The versions of files in one folder, in the order of their names; nil for each if the folder does not exist.
    ///
    /// - Parameter folder: nil for the top of the store.
    func versions(of names: [String], in folder: RelativePath?) -> [ContentVersion?]

    /// Whether a file has another version only because something with the same content is about to replace it. What is
    /// recorded for the old version stays valid until another file has the path.
    func isAboutToGiveWay(_ version: ContentVersion, knownAs before: ContentVersion) -> Bool

    /// Whether there is anything at the path.
    func exists(_ path: RelativePath) -> Bool

    /// The missing folders among a folder and those above it, the lowest first.
    ///
    /// - Parameters:
    ///   - folder: nil for the top of the store.
    ///   - top: a folder above it, which is not counted; nil to count all.
    func missingFolders(_ folder: RelativePath?, below top: RelativePath?) -> [RelativePath]

    // MARK: Storing

    /// Checks, before the content of an upload is sent, whether the upload can be stored under this path.
    ///
    /// - Parameter size: the declared size, if there is one.
    /// - Returns: `skipped` if the path is taken and the conflict policy is to skip; nil if the upload may go on.
    /// - Throws: `invalidPath`, `pathConflict`, `storageFailed`.
    func admit(_ path: RelativePath, size: UInt64?, conflict: ConflictPolicy) throws(Failure) -> PublicationOutcome?

    /// Checks that the minimum of free space is free, before something other than content is written.
    ///
    /// - Throws: `insufficientStorage`.
    func checkRoom() throws(Failure)

    /// Makes a place for the bytes of one upload. It is discarded with its last reference.
    ///
    /// - Parameters:
    ///   - size: the declared size, or nil; for more than one block, room is reserved.
    ///   - filled: bytes that are not in holes, as far as the client knows; nil for content without holes. With holes,
    ///     no room is reserved.
    ///   - quota: the client's quota, if it has one.
    func stage(
        id: UploadID, size: UInt64?, filled: UInt64?, permissions: UInt16?, quota: Quota?
    ) throws(Failure) -> Staged

    /// Publishes verified uploads. When this returns, those that succeeded are under the paths in their outcomes,
    /// durably if the store is durable, and nothing of the others is visible. A store that returns a `Settlement`
    /// promises this only when the settlement is committed.
    ///
    /// - Parameters:
    ///   - acknowledged: returns the digest with which a file was acknowledged, if the file was not changed since. An
    ///     upload with that digest replaces a file that has other content by now. Only called for files with other
    ///     content.
    ///   - mayReplace: returns whether the client may replace a file; nil if it may replace all. Both closures may
    ///     query the records. They read stored files only if the store has `rereads`. A store without may call them
    ///     with its own lock held.
    func publish(
        _ batch: [Publication], acknowledged: @escaping (RelativePath, ContentVersion) -> Digest?,
        mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?
    ) -> PublishedBatch

    /// The same, for a batch whose paths were looked at before.
    ///
    /// - Parameter seen: what `UploadRecords.entries(for:publishingAt:)` has returned; nil if nothing was looked at.
    func publish(
        _ batch: [Publication], seen: (any SeenPaths)?,
        acknowledged: @escaping (RelativePath, ContentVersion) -> Digest?,
        mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?
    ) -> PublishedBatch

    // MARK: Mail

    /// Removes mail content at paths that `RelativePath.mail(_:)` has made, as far as possible. It does not report
    /// which paths had content, and the removal need not be durable.
    func removeMail(_ paths: [RelativePath])

    /// The paths that `RelativePath.mail(_:)` has made and that have content.
    func mailFiles() -> [RelativePath]
}

extension ContentStore {
    package func publish(
        _ batch: [Publication], seen: (any SeenPaths)?,
        acknowledged: @escaping (RelativePath, ContentVersion) -> Digest?,
        mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?
    ) -> PublishedBatch {
        publish(batch, acknowledged: acknowledged, mayReplace: mayReplace)
    }
}

/// What records have seen at paths, for the store in the same database. It may be outdated when the store uses it, which
/// the store finds out when it commits.
package protocol SeenPaths: Sendable {}

/// Keeps the content of unfinished uploads, also for a later server.
package protocol PartStore: AnyObject, Sendable {
    associatedtype Staged: StagedContent

    /// The records of verified parts; nil if a new server finds the parts with `StagedContent.survey`, and no other
    /// server uses the store at the same time.
    var records: (any PartRecords)? { get }

    /// Opens the part of an upload, with the content that has arrived before, perhaps at an earlier server. The caller
    /// must ensure that no other thread has it.
    ///
    /// - Parameter filled: the same as in `ContentStore.stage`.
    func resume(id: UploadID, size: UInt64?, filled: UInt64?, quota: Quota?) throws(Failure) -> Staged

    /// Whether there is a part of the upload that a client could resume, or a record of what has become of it. True if
    /// the store cannot find that out.
    func hasPart(_ id: UploadID) -> Bool

    /// Size and time of the part of an unfinished upload; nil if the store has no part. The content is not read.
    func part(_ id: UploadID) -> UnfinishedPart?

    /// Removes the part of an upload, if there is one. The caller must ensure that no other thread has it.
    func removePart(_ id: UploadID) throws(Failure)

    /// Notes that an upload in parts is recorded, so that it need not become unfinished again if this server dies.
    func forgetPublished(_ id: UploadID)

    /// Whether a part was published, perhaps by an earlier server, and `forgetPublished` was not called.
    func isUnrecorded(_ id: UploadID) -> Bool

    /// Makes the uploads of mail that is in no mailbox unfinished again: a server died when it had published the mail.
    /// Has to be called before the first upload.
    ///
    /// - Parameter paths: the mail; what is not the mail of an upload in parts stays.
    func unpublish(mail paths: [RelativePath])

    /// The number and size of all unfinished uploads.
    func unfinished() throws(Failure) -> UnfinishedContent

    /// Removes parts that no client can resume. Has to be called before the first upload.
    func removeLeftovers() throws(Failure) -> UnfinishedContent

    /// Removes unfinished uploads to which nothing was added for long.
    ///
    /// - Parameters:
    ///   - isOld: whether an upload that was last written at this moment (in seconds since 1970) is removed.
    ///   - isInUse: whether a connection works on the upload.
    func removeUnfinished(
        where isOld: (Int) -> Bool, unless isInUse: (UploadID) -> Bool
    ) throws(Failure) -> UnfinishedContent
}

extension PartStore {
    package var records: (any PartRecords)? { nil }
    package func forgetPublished(_ id: UploadID) {}
    package func isUnrecorded(_ id: UploadID) -> Bool { false }
    package func unpublish(mail paths: [RelativePath]) {}
}

/// Keeps append uploads, and how far each is durable. They are also among the parts of `PartStore`.
package protocol AppendStore: AnyObject, Sendable {
    associatedtype Appendable: AppendableContent

    /// Makes a place for an append upload. It is not durable before `AppendableContent.keep` is called.
    ///
    /// - Parameters:
    ///   - function: digests the content; `AppendableContent.kept` names it, also at a later server.
    ///   - declaration: bytes that `AppendableContent.declaration` returns, also at a later server.
    func makeAppendable(
        id: UploadID, size: UInt64?, function: DigestFunction, declaration: [UInt8], quota: Quota?
    ) throws(Failure) -> Appendable

    /// Opens an append upload, perhaps of an earlier server. The caller must ensure that no other thread has it.
    ///
    /// - Parameter target: returns where an upload with this declaration is stored; nil for an upload that has ended or
    ///   has no valid path. If a server has published the content and died before it ended the upload, the content is
    ///   found at that path.
    /// - Returns: nil if there is no such upload.
    func appendable(
        id: UploadID, quota: Quota?,
        to target: (_ declaration: [UInt8], _ function: DigestFunction) throws(Failure) -> UploadTarget?
    ) throws(Failure) -> Appendable?
}

/// Reads stored content again, so that acknowledgements of the original apply to a copy.
package protocol RereadStore: AnyObject, Sendable {
    /// Reads stored files, after it has made them and their names as durable as the store is.
    ///
    /// - Parameter progress: receives the size of every piece that was read, in bytes; false ends the reading.
    /// - Returns: one result for each query, in their order.
    /// - Throws: if the store is in doubt, so that reading proves nothing.
    func reread(_ queries: [ContentQuery], progress: (Int) -> Bool) throws(Failure) -> [ContentReading]
}

/// The result of one call of `ContentStore.publish`.
package struct PublishedBatch {
    /// One outcome for each publication, in order.
    package let outcomes: [Result<PublicationOutcome, Failure>]

    /// Files that were about to be replaced and have kept their paths, but have other versions now.
    package let touched: [TouchedFile]

    /// While this object exists, `ContentStore.isAboutToGiveWay` knows the old versions of the touched files. It is
    /// released when the new versions are recorded.
    package let keeping: (any AnyObject & Sendable)?

    /// Commits the publications together with their mail and records; nil if they are final already.
    package let settlement: (any Settlement)?

    package init(
        outcomes: [Result<PublicationOutcome, Failure>], touched: [TouchedFile] = [],
        keeping: (any AnyObject & Sendable)? = nil, settlement: (any Settlement)? = nil
    ) {
        (self.outcomes, self.touched, self.keeping) = (outcomes, touched, keeping)
        self.settlement = settlement
    }
}

/// What a store can do, and how much of it at once. It is read once, when the server starts.
package struct StoreAbilities: Equatable, Sendable {
    /// Whether other servers with the same records store into it as well. Then what this process remembers proves that
    /// an upload was acknowledged, but never that it was not.
    package var isShared = false

    /// The most uploads that are published together; nil if each of them holds a descriptor, so that the server's own
    /// limit counts (`Intake.Configuration.filesAtOnce`).
    package var uploadsAtOnce: Int?

    /// How long the verified uploads of a connection wait for others of it that have arrived as well, so that they are
    /// published together; nil if a publication costs little.
    package var gathering: Gathering?

    /// Limits of what is gathered for one publication. As soon as one of them is reached, or all that has arrived is
    /// verified, the uploads are published.
    package struct Gathering: Equatable, Sendable {
        package let uploads: Int
        package let bytes: UInt64
        /// How long the first of the uploads waits.
        package let time: Interval

        package init(uploads: Int, bytes: UInt64, time: Interval) {
            (self.uploads, self.bytes, self.time) = (uploads, bytes, time)
        }
    }

    /// Threads that may wait while the store publishes; nil for as many as keep a disk busy
    /// (`ServerConfiguration.blockingThreads`).
    package var waitingThreads: Int?

    /// Whether a part of an upload may be a piece of a block.
    package var takesPieces = true

    /// Whether each part becomes an object, so that few long parts are better than many short ones.
    package var storesParts = false

    /// Whether content may have holes, which take no room (`StagedContent.clear`).
    package var takesHoles = true

    /// Whether a file can have a second name.
    package var linksFiles = true

    /// Whether files can be given owners.
    package var keepsOwners = true

    /// Whether the parts of an upload may come in any order. Otherwise each has to begin where the last one ended.
    package var writesAnywhere: Bool

    /// Whether the store can publish without replacing anything. Otherwise uploads replace the file at their path, or
    /// are refused.
    package var replacesNothing: Bool

    /// The least number of bytes of a part, except for the last one.
    package var leastPart: UInt64

    package init(writesAnywhere: Bool = true, replacesNothing: Bool = true, leastPart: UInt64 = 0) {
        (self.writesAnywhere, self.replacesNothing) = (writesAnywhere, replacesNothing)
        self.leastPart = leastPart
    }
}

/// Size and time of the part of an unfinished upload.
package struct UnfinishedPart: Equatable, Sendable {
    /// Bytes of the part, including reserved ones.
    package let size: UInt64

    /// When something was last added; UTC, in nanoseconds since 1970.
    package let written: Int64

    package init(size: UInt64, written: Int64) {
        (self.size, self.written) = (size, written)
    }
}

/// The number and size of unfinished uploads.
package struct UnfinishedContent: Equatable, Sendable {
    /// The most unfinished uploads in a store: this many can be listed in a few milliseconds.
    package static let mostParts = 16_384

    package var count = 0

    /// Bytes of room that they take.
    package var bytes: UInt64 = 0

    package init() {}

    package mutating func add(_ other: UnfinishedContent) {
        count += other.count
        bytes = bytes.addingClamped(other.bytes)
    }
}

/// What an acknowledgement promises for a crash of the machine.
package enum Durability: CaseIterable, Sendable {
    /// Content and name are on the disk when the upload is acknowledged.
    case commit
    /// Nothing: the kernel writes when it likes. After a crash, a file may have less than its content.
    case none
}

/// The path of an unfinished upload, and its conflict policy.
package typealias UploadTarget = (path: RelativePath, conflict: ConflictPolicy)

/// A file that was removed from the store.
package struct RemovedFile: Sendable {
    package let path: RelativePath
    package let version: ContentVersion

    /// Whether the content is removed, and not only one of several names.
    package let isLast: Bool

    package init(path: RelativePath, version: ContentVersion, isLast: Bool) {
        (self.path, self.version, self.isLast) = (path, version, isLast)
    }
}
