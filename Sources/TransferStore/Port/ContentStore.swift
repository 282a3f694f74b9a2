package import TransferModel

/// Where accepted content lives. Synchronous and safe to call from any thread.
package protocol ContentStore: AnyObject, Sendable {
    associatedtype Staged: StagedContent
    associatedtype Appendable: AppendableContent

    /// What acknowledgements of uploads to this store promise.
    var durability: Durability { get }

    /// Whether a sync has failed, so that what is found is not taken for stored until the machine is started again.
    var isInDoubt: Bool { get }

    /// What this store can, and others cannot.
    var abilities: StoreAbilities { get }

    /// Whether an upload with this path has a chance, before its content travels.
    ///
    /// - Parameter size: what the client declared, if it did.
    /// - Returns: `skipped` when the client asked to leave the name as it is and it is taken; nothing to go on.
    /// - Throws: `invalidPath`, `pathConflict`, `storageFailed`.
    func admit(_ path: RelativePath, size: UInt64?, conflict: ConflictPolicy) throws(Failure) -> PublicationOutcome?

    /// Whether something has the path.
    func exists(_ path: RelativePath) -> Bool

    /// The folders that are not there of one and those above it, the lowest first.
    ///
    /// - Parameters:
    ///   - folder: nil for the store's directory itself.
    ///   - top: one of those above, which does not count; nil for none.
    func missingFolders(_ folder: RelativePath?, below top: RelativePath?) -> [RelativePath]

    /// Whether as much of the disk is free as has to stay free, before something is written that is no content.
    ///
    /// - Throws: `insufficientStorage`.
    func checkRoom() throws(Failure)

    /// What has the path, without a look at its content.
    ///
    /// - Returns: nothing when there is none, or something that is no file.
    func version(at path: RelativePath) -> ContentVersion?

    /// Whether a file is another version of what it was only because something is about to replace it, and has its content. What has been
    /// said of the version that is known holds until something else has the path.
    func isAboutToGiveWay(_ version: ContentVersion, knownAs before: ContentVersion) -> Bool

    /// The same for many paths at once, in their order. Those of one folder should stand together.
    func versions(at paths: [RelativePath]) -> [ContentVersion?]

    /// What has these names in one folder, in their order; nothing in it where there is no such folder.
    ///
    /// - Parameter folder: nothing for the store's directory itself.
    func versions(of names: [String], in folder: RelativePath?) -> [ContentVersion?]

    /// Reads stored files again, from the disk, once they and their names are as durable as the store is.
    ///
    /// - Parameter progress: is told of every piece that was read, in bytes; false ends it.
    /// - Returns: one reading for each query, in their order.
    /// - Throws: where nothing that is read proves anything now.
    func reread(_ queries: [ContentQuery], progress: (Int) -> Bool) throws(Failure) -> [ContentReading]

    /// A place for the bytes of one upload, which goes with whoever holds it.
    ///
    /// - Parameters:
    ///   - size: what the client declared, or nothing; for more than one block space is reserved.
    ///   - filled: bytes that are not in holes, as far as the client can tell, of content that has any; then nothing is reserved.
    ///   - quota: of the client, where it has one.
    func stage(
        id: UploadID, size: UInt64?, filled: UInt64?, permissions: UInt16?, quota: Quota?
    ) throws(Failure) -> Staged

    /// The part of an upload, with what has arrived of it before, perhaps under an earlier server. Whoever asks must see
    /// to it that nobody else has it.
    ///
    /// - Parameter filled: as in `stage`.
    func resume(id: UploadID, size: UInt64?, filled: UInt64?, quota: Quota?) throws(Failure) -> Staged

    /// Makes a place for an append upload. Nothing of it is durable before it is first kept.
    ///
    /// - Parameter declaration: what `AppendableContent.declaration` gives back, also under a later server.
    func makeAppendable(id: UploadID, size: UInt64?, declaration: [UInt8], quota: Quota?) throws(Failure) -> Appendable

    /// One that was begun before, perhaps under an earlier server. Whoever asks must see to it that nobody else has it.
    ///
    /// - Parameter target: where an upload that was declared so goes; nothing for one that has ended, or goes nowhere. There the
    ///   one is found that was published and never ended, because the server has died.
    /// - Returns: nothing where there is none.
    func appendable(
        id: UploadID, quota: Quota?, to target: (_ declaration: [UInt8]) throws(Failure) -> UploadTarget?
    ) throws(Failure) -> Appendable?

    /// Publishes verified uploads. When this returns, those that succeeded are under the paths it names, durably if the
    /// store is, and nothing is visible of the others.
    ///
    /// - Parameters:
    ///   - acknowledged: the digest that a file was acknowledged with, where nobody has changed it since. An upload with
    ///     that content takes the place of one that has other content by now. Only asked about files that do.
    ///   - mayReplace: whether the sender may replace a file, where it may not replace all.
    ///   - touched: is called with what has its path still, though it was about to be replaced, and is another version by now.
    /// - Returns: one outcome for each publication, in order.
    func publish(
        _ batch: [Publication], acknowledged: @escaping (RelativePath, ContentVersion) -> Digest?,
        mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?,
        touched: ([TouchedFile]) -> Void
    ) -> [Result<PublicationOutcome, Failure>]

    /// Whether there is a part of the upload that somebody could go on with, or what says what has become of it. One that cannot
    /// be looked at counts.
    func hasPart(_ id: UploadID) -> Bool

    /// The part of an unfinished upload, without a look at its content; nothing when there is none.
    func part(_ id: UploadID) -> UnfinishedPart?

    /// Throws the part of an upload away, if there is one. Whoever asks must see to it that nobody else has it.
    func removePart(_ id: UploadID) throws(Failure)

    /// Removes content in places that `RelativePath.mail(_:)` has made, as far as that is possible. Nobody is told what of it
    /// was there, and it need not be durable.
    func removeMail(_ paths: [RelativePath])

    /// The places that `RelativePath.mail(_:)` has made and that have content.
    func mailFiles() -> [RelativePath]

    /// What there is of unfinished uploads.
    func unfinished() throws(Failure) -> UnfinishedContent

    /// Removes what nobody can resume. To be called before the first upload.
    func removeLeftovers() throws(Failure) -> UnfinishedContent

    /// Removes unfinished uploads that nothing was added to for long.
    ///
    /// - Parameters:
    ///   - isOld: whether what was written last at a moment goes: seconds since 1970.
    ///   - isInUse: whether somebody works on the upload.
    func removeUnfinished(
        where isOld: (Int) -> Bool, unless isInUse: (UploadID) -> Bool
    ) throws(Failure) -> UnfinishedContent
}

/// What a store can, and others cannot.
package struct StoreAbilities: Equatable, Sendable {
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
