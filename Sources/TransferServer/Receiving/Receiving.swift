import TransferCatalog
import TransferCodec
import TransferModel
import TransferProtocol
import TransferStore
import TransferSystem

/// The upload, or the part of one, that a lane is receiving: its bytes go to their file and through the digest as they
/// come.
final class Receiving {
    /// What came of content that is all there and as declared.
    enum Outcome {
        case publish(Publication)
        /// A part is in its place.
        case staged(UploadResult)
        /// The id already has its acknowledgement, and the content is the same.
        case known(UploadResult)
    }

    /// Where the bytes go.
    private enum Target {
        case none
        case file(StagedFile)
        case part(PartClaim)
    }

    /// With the server's ids; its path becomes that in the server's directory when the client is found to may use it.
    var begin: Begin

    /// Nanoseconds of the monotonic clock.
    let started: Int64

    /// What a part belongs to, or whose end this is; set before anything else is asked for.
    var assembly: Assembly?

    /// The acknowledgement that this id already has: then nothing is stored, only compared.
    private var earlier: UploadResult?

    let context: ServerContext
    private let connection: Int
    /// The push that the connection is part of.
    let run: UInt64?
    let client: ClientView
    /// Of the acknowledged uploads, before this one was looked for among them.
    private let moment: Int
    private let digester: ContentDigester
    private let inflation: Inflation
    private var path: RelativePath?
    private var target = Target.none
    private var lastBlock: (index: UInt64, digest: [UInt8])?
    /// Of a part's blocks, one after the other.
    private var blockDigests: [UInt8] = []

    /// Bytes of content taken in.
    var size: UInt64 { digester.size }

    /// - Parameters:
    ///   - connection: the number of the one it comes over.
    ///   - run: the push that the connection is part of.
    ///   - digester: reset; the lane's, used by one upload at a time.
    init(
        _ begin: Begin, started: Int64, context: ServerContext, connection: Int, run: UInt64?, client: ClientView,
        digester: ContentDigester, inflation: Inflation
    ) {
        self.begin = begin
        self.started = started
        self.context = context
        self.connection = connection
        self.run = run
        self.client = client
        moment = context.known.recent.moment
        self.digester = digester
        self.inflation = inflation
    }

    /// Whether the content has, or may have, more than one block. Short uploads are over as soon as they have begun.
    var isLong: Bool {
        guard begin.scope != .assembly else { return false }
        return begin.size.map { $0 > UInt64(Limits.blockSize) } ?? true
    }

    /// Whether this is the first that is heard of a long upload.
    var opensLongUpload: Bool {
        if case .part(let part) = begin.scope { part.offset == 0 } else { isLong }
    }

    /// To be asked for before it is published; nothing for one in parts, whose assembly sees to it that it is completed
    /// once.
    var claim: RecentResults.Claim? { begin.scope == .whole ? .init(id: begin.id, begun: moment) : nil }

    private var limit: UInt64 { client.maximumUpload(of: context.settings.maximumUpload) }

    /// Checks what is declared; before anything else is known of the upload, or remembered.
    ///
    /// - Returns: where it is to be stored.
    func checkDeclaration() throws(StoreError) -> RelativePath {
        let path = try checkedPath()
        self.path = path
        if begin.leastSize > limit { throw tooLarge }
        return path
    }

    /// Checks what can be known before the content.
    ///
    /// - Parameters:
    ///   - path: where it is to be stored.
    ///   - isQuestion: whether nothing follows, so that it cannot be compared with what was stored before.
    /// - Returns: the result, when the upload is over already.
    func admit(_ path: RelativePath, isQuestion: Bool = false) throws(StoreError) -> UploadResult? {
        let mayEnd = begin.expectsAccept || isQuestion
        earlier = try acknowledgement(path)
        if let earlier { return mayEnd ? earlier : nil }
        guard mayEnd || begin.conflict != .keepBoth else { return nil }
        try checkReplacing(path)
        guard try context.store.admit(path, size: begin.uploadSize, conflict: begin.conflict) == .skipped,
            !isToBeHealed(path)
        else {
            if isLong { try open() }
            return nil
        }
        // What stands there may come from this very upload, over a connection that was lost.
        guard !context.known.recent.isClaimed(begin.id) else { throw .beingCompleted }
        earlier = try acknowledgement(path)
        if let earlier { return mayEnd ? earlier : nil }
        return UploadResult(id: begin.id, code: .skipped, message: "\(path) was there already.")
    }

    /// Asked again when it is published; this spares the way to content that has no chance. One of the same size may be the
    /// same.
    private func checkReplacing(_ path: RelativePath) throws(StoreError) {
        guard begin.conflict == .overwrite, !client.mayReplaceAll, let file = context.store.identity(at: path),
            begin.uploadSize.map({ $0 != file.size }) ?? false, !context.known.hasStored(client, path, file)
        else { return }
        throw .notYours(path)
    }

    /// What is rotten is not left as it is before it is known whether this is what it was.
    private func isToBeHealed(_ path: RelativePath) -> Bool {
        context.store.identity(at: path).map { context.known.isRotten(path, $0) } ?? false
    }

    private func checkedPath() throws(StoreError) -> RelativePath {
        do throws(RelativePath.Fault) {
            return try RelativePath(begin.path)
        } catch {
            throw StoreError(.invalidPath, error.message)
        }
    }

    private var tooLarge: StoreError { StoreError(.uploadTooLarge, "The server takes no more than \(limit) bytes.") }
}

// MARK: Content

extension Receiving {
    func take(_ piece: DataPiece, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        switch piece.encoding {
        case .stored: try take(bytes)
        case .zlib: try inflation.inflate(piece, bytes) { (inflated) throws(StoreError) in try take(inflated) }
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        guard !bytes.isEmpty else { return }
        guard begin.scope != .assembly else {
            throw StoreError(.sizeMismatch, "The end of an assembly has no content.")
        }
        let offset = size
        let (end, overflow) = offset.addingReportingOverflow(UInt64(bytes.count))
        guard !overflow, end <= begin.size ?? end else {
            throw StoreError(.sizeMismatch, "More than the declared \(begin.size ?? 0) bytes arrived.")
        }
        guard end <= limit else { throw tooLarge }
        digester.update(bytes) { index, digest in
            lastBlock = (index, digest)
            if assembly != nil { blockDigests += digest }
        }
        try open()
        switch target {
        case .none: break
        case .file(let staged): try staged.write(bytes, at: offset)
        case .part(let claim): try claim.write(bytes, at: offset)
        }
    }

    /// Makes the place to write to, where the bytes are wanted at all.
    private func open() throws(StoreError) {
        guard earlier == nil, case .none = target else { return }
        switch begin.scope {
        case .whole:
            target = .file(
                try context.store.stage(
                    id: begin.id, size: begin.size, permissions: begin.permissions, quota: client.quota))
        case .part(let part):
            guard let assembly, let range = part.range(size: begin.size ?? 0) else { throw .declaredOtherwise }
            target = .part(
                try assembly.claim(range, connection: connection, run: run) {
                    [context, client] () throws(StoreError) in
                    try context.store.resume(id: part.upload, size: part.total, quota: client.quota)
                })
        case .assembly: break
        }
    }

    func check(_ block: BlockDigest) throws(StoreError) {
        guard let lastBlock, lastBlock.index == block.index, block.digest.algorithm.function == begin.digest,
            lastBlock.digest == block.digest.bytes
        else { throw StoreError(.digestMismatch, "Block \(block.index) arrived with another digest than declared.") }
    }

    /// Throws away what was received.
    ///
    /// - Parameter keepingBlocks: of a part, whole blocks stay: they arrived as they were sent, as far as anybody knows.
    func discard(keepingBlocks: Bool = false) {
        switch target {
        case .none: break
        case .file(let staged): staged.discard()
        case .part(let claim): claim.withdraw(digests: keepingBlocks ? blockDigests : [])
        }
        target = .none
    }
}

// MARK: The end

extension Receiving {
    /// Compares what arrived with what the client declared.
    func finish(_ end: End) throws(StoreError) -> Outcome {
        if let earlier { return .known(try compare(earlier, end)) }
        switch begin.scope {
        case .whole:
            let digest = try checked(end, size: size, digest: digester.finish().digest)
            try open()
            guard case .file(let staged) = target, let publication = publication(staged, size, digest) else {
                throw .notAdmitted
            }
            target = .none
            return .publish(publication)
        case .part: return .staged(try stage(end))
        case .assembly: return try assemble(end)
        }
    }

    /// Only parts that were verified here count. That the content is under its name already proves nothing of this client,
    /// who may know no more of it than its size and its digest; and to look would be to read all of it for a few bytes.
    private func assemble(_ end: End) throws(StoreError) -> Outcome {
        guard let total = begin.size, let assembly, let (staged, computed) = try assembly.finish(total: total) else {
            throw .missingParts
        }
        do throws(StoreError) {
            let digest = try checked(end, size: total, digest: computed)
            try staged.trim(to: total)
            guard let publication = publication(staged, total, digest) else { throw .notAdmitted }
            return .publish(publication)
        } catch {
            // What the disk could not do now it may do later.
            if error.code.class != .server { staged.discard() }
            context.assemblies.remove(assembly)
            throw error
        }
    }

    /// - Returns: the digest.
    private func checked(_ end: End, size: UInt64, digest: Digest) throws(StoreError) -> Digest {
        guard end.size == size, size == begin.size ?? size else {
            throw StoreError(.sizeMismatch, "\(size) bytes arrived; \(begin.size ?? end.size) were declared.")
        }
        guard digest == end.digest else {
            throw StoreError(
                .digestMismatch, "The content arrived with the digest \(digest); \(end.digest) was declared.")
        }
        return digest
    }

    /// For an id that has its acknowledgement. Who only sends the end of an assembly again has no content to compare.
    private func compare(_ earlier: UploadResult, _ end: End) throws(StoreError) -> UploadResult {
        let digest =
            begin.scope == .assembly ? end.digest : try checked(end, size: size, digest: digester.finish().digest)
        return try compare(earlier, size: end.size, digest)
    }

    private func compare(_ earlier: UploadResult, size: UInt64, _ digest: Digest) throws(StoreError) -> UploadResult {
        guard earlier.size == size, earlier.digest == digest else { throw .otherContent }
        return earlier
    }

    /// The acknowledgement of an upload that may not be completed here, because another connection is at it or was faster.
    ///
    /// - Throws: `busy` when there is none yet, or none any more; `contentMismatch`.
    func acknowledgedElsewhere(_ publication: Publication) throws(StoreError) -> UploadResult {
        guard let earlier = try acknowledgement(publication.path) else { throw .beingCompleted }
        return try compare(earlier, size: publication.size, publication.digest)
    }

    private func stage(_ end: End) throws(StoreError) -> UploadResult {
        let (computed, last) = digester.finish()
        let digest = try checked(end, size: size, digest: computed)
        if let last { blockDigests += last.digest }
        // Less than a block: its digest is the content's.
        if blockDigests.isEmpty { blockDigests = digest.bytes }
        guard case .part(let claim) = target else { throw .notAdmitted }
        target = .none
        try claim.complete(digests: blockDigests)
        return UploadResult(id: begin.id, code: .staged, size: size, digest: digest)
    }

    /// - Returns: nothing for an upload that was not admitted.
    private func publication(_ staged: StagedFile, _ size: UInt64, _ digest: Digest) -> Publication? {
        path.map {
            Publication(
                staged: staged, id: begin.id, path: $0, size: size, digest: digest, conflict: begin.conflict,
                modified: begin.modified, permissions: begin.permissions)
        }
    }
}

extension StoreError {
    /// The state of an upload is not what its frames say. Only a mistake of this server can bring that about, and it must
    /// cost that upload alone.
    fileprivate static let notAdmitted = StoreError(
        .storageFailed, "The server lost track of the upload, by a mistake of its own. The upload may be sent again.")
}

extension Begin {
    /// Bytes that the upload has at least, as far as this tells: a stream tells no more than where its parts are.
    fileprivate var leastSize: UInt64 {
        guard case .part(let part) = scope else { return size ?? 0 }
        guard let range = part.range(size: size ?? 0) else { return .max }
        return max(range.upperBound, part.total ?? 0)
    }

    /// Bytes of the upload that this opens, or opens a part of.
    var uploadSize: UInt64? {
        if case .part(let part) = scope { part.total } else { size }
    }
}
