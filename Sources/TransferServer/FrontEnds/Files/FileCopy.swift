import TransferCatalog
import TransferCodec
import TransferIntake
import TransferModel
import TransferProtocol
import TransferStore
import TransferSystem

/// The answer to a `make` of a copy: some of a long file for each turn, unless the file system lets two files share content.
///
/// A copy gets its name as an upload does: whole, with the digest that its source was acknowledged with, and on disk.
final class FileCopy: RequestAnswer {
    private let request: MakeRequest
    private let resources: WorkerResources
    private let client: Caller
    private let source: RelativePath
    private let target: RelativePath
    private let content: StoredContent
    private let extra: ExtraAttributes
    /// What the catalog knows of the source.
    private let known: CatalogEntry?
    private let staged: StagedFile
    private let digester: ContentDigester
    /// Whether all of the content is there, without having been read.
    private let isShared: Bool
    private let sender: Sender?
    private let command: StoringCommand?
    private let trash: TrashPart?
    private let begun = utcNanoseconds()

    /// Bytes that are read in one turn.
    private static let bytesAtOnce: UInt64 = 16 << 20
    private static let readSize = 256 << 10

    /// - Parameters:
    ///   - content: of the source, which the client may see.
    ///   - sender: the connection that the request came over.
    ///   - command: that the copy is part of.
    ///   - trash: where what it replaces goes; nil where that is gone for good.
    /// - Throws: `uploadTooLarge` for more than the client may store, and what the store does.
    init(
        _ request: MakeRequest, from source: RelativePath, _ content: StoredContent, to target: RelativePath,
        _ resources: WorkerResources, _ client: Caller, sender: Sender?, command: StoringCommand?, trash: TrashPart?
    ) throws(Failure) {
        (self.request, self.resources, self.client) = (request, resources, client)
        (self.sender, self.command, self.trash) = (sender, command, trash)
        (self.source, self.target, self.content) = (source, target, content)
        let attributes = content.attributes
        let limit = client.maximumUpload(of: resources.intake.maximumUpload)
        guard attributes.size <= limit else { throw .uploadTooLarge(limit) }
        let whole = try resources.store.whole(at: source)
        guard !whole.isPartial || request.attributes != nil else {
            throw Failure(.storageFailed, "The extended attributes of \(source) are more than a copy can keep.")
        }
        extra = ExtraAttributes(extended: whole.extra.extended)
        known = resources.intake.known.details(of: [(source, attributes)])[0]
        staged = try resources.store.stage(
            id: .random(), size: attributes.size, filled: content.filled, permissions: attributes.permissions,
            quota: resources.intake.quotas.quota(for: client.grant))
        digester = ContentDigester(known?.digest?.algorithm.function ?? .xxh128)
        // Whose digest nobody knows has to be read.
        isShared = known?.digest == nil ? false : try content.clone(into: staged)
        content.expectAll()
    }

    var id: UInt32 { request.id }
    var subject: String { request.path }

    func fill(_ chunk: FrameChunk) throws(Failure) -> Outcome? {
        guard chunk.takesMessage else { return nil }
        if !isShared, try !copySome() { return nil }
        guard content.isUnchanged else { throw Failure(.fileChanged, "\(source) changed while it was copied.") }
        let digest = isShared ? known?.digest : digester.finish().digest
        guard let digest else { throw Failure(.storageFailed, "\(source) could not be copied.") }
        if let stored = known?.digest, stored != digest { throw .contentLost(source) }
        var outcome = Outcome(id: id, code: .completed, count: 1)
        outcome.trash = try publish(digest)
        outcome.isDurable = resources.store.durability == .commit
        return outcome
    }

    /// - Returns: whether that was all.
    private func copySome() throws(Failure) -> Bool {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 4096)
        defer { buffer.deallocate() }
        let end = digester.size.addingClamped(Self.bytesAtOnce)
        while digester.size < end {
            let offset = digester.size
            let run = content.run(at: offset)
            guard !run.isHole else {
                try copyHole(min(run.count, UInt64(ZeroBytes.count)), at: offset)
                continue
            }
            let buffer = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: run.count)))
            let count: Int
            do throws(SystemError) {
                count = try content.read(into: buffer, at: offset)
            } catch {
                throw Failure(error, reading: source)
            }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            if count > 0 { try staged.write(bytes, at: offset) }
            digester.update(bytes) { _, _ in }
            // There is room for what it was, and it may grow for ever.
            guard digester.size <= content.attributes.size else {
                throw Failure(.fileChanged, "\(source) changed while it was copied.")
            }
            guard count == buffer.count else { return true }
        }
        return false
    }

    private func copyHole(_ count: UInt64, at offset: UInt64) throws(Failure) {
        let zeros = ZeroBytes.prefix(Int(count))
        try staged.clear(offset..<offset + UInt64(zeros.count))
        digester.update(zeros) { _, _ in }
    }

    /// - Returns: the part of the trash that has what it takes the place of.
    private func publish(_ digest: Digest) throws(Failure) -> TrashBatch? {
        let attributes = content.attributes
        var publication = Publication(
            staged: staged, id: .random(), path: target, size: attributes.size, digest: digest,
            conflict: request.replaces ? .overwrite : .fail, modified: request.modified ?? attributes.modified,
            permissions: request.permissions ?? attributes.permissions)
        publication.attributes = client.allowed(request.attributes ?? extra)
        publication.keepsPermissions = request.permissions != nil
        (publication.sender, publication.command, publication.trash) = (sender, command, trash)
        let kind = known?.kind ?? .file
        return try resources.intake.publish(copy: publication, kind, for: client, begun: begun)?.trash
    }

    func events(peer: String) -> [LogEvent] { [.changed(.make(request), peer: peer)] }
}
