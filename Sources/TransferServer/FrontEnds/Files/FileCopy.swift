import TransferCodec
import TransferIntake
import TransferModel
import TransferProtocol
import TransferPorts
import TransferSystem

/// Copies a file, for the client of one connection on any wire: some of a long file in each turn, unless the file system lets two files
/// share content. On the wire of frames, it is the answer to a `make`.
///
/// A copy is published like an upload: complete, durable, and with its source's acknowledged digest.
final class FileCopy: RequestAnswer {
    private let request: MakeRequest
    private let resources: WorkerResources
    private let caller: Caller
    private let source: RelativePath
    private let target: RelativePath
    private let content: any ReadableContent
    private let extra: ExtraAttributes
    /// The catalog's entry of the source; nil if it has none.
    private let known: CatalogEntry?
    private let staged: any StagedContent
    private let digester: ContentDigester
    /// Whether the staged file shares the source's content, so that nothing is read.
    private let isShared: Bool
    private let sender: Sender?
    private let command: StoringCommand?
    private let trash: OpenTrashBatch?
    private let begun = utcNanoseconds()

    /// Bytes that are read in one turn.
    private static let bytesAtOnce: UInt64 = 16 << 20
    private static let readSize = 256 << 10

    /// - Parameters:
    ///   - content: the source, which the client may read.
    ///   - sender: the connection of the request.
    ///   - command: the client's command that the copy is part of.
    ///   - trash: takes the file that the copy replaces; nil to delete that file.
    /// - Throws: `uploadTooLarge` for more than the client may store, and the store's failures.
    init(
        _ request: MakeRequest, from source: RelativePath, _ content: any ReadableContent, to target: RelativePath,
        _ resources: WorkerResources, _ caller: Caller, sender: Sender?, command: StoringCommand?,
        trash: OpenTrashBatch?
    ) throws(Failure) {
        (self.request, self.resources, self.caller) = (request, resources, caller)
        (self.sender, self.command, self.trash) = (sender, command, trash)
        (self.source, self.target, self.content) = (source, target, content)
        let attributes = content.attributes
        let limit = caller.maximumUpload(of: resources.intake.maximumUpload)
        guard attributes.size <= limit else { throw .uploadTooLarge(limit) }
        let whole = try resources.tree.whole(at: source)
        guard !whole.isPartial || request.attributes != nil else {
            throw Failure(.storageFailed, "The extended attributes of \(source) are too large for a copy.")
        }
        extra = ExtraAttributes(extended: whole.extra.extended)
        known = resources.intake.known.details(of: [(source, attributes)])[0]
        staged = try resources.intake.store.stage(
            id: .random(), size: attributes.size, filled: content.filled, permissions: attributes.permissions,
            quota: resources.intake.quotas.quota(for: caller.grant))
        digester = ContentDigester(known?.digest?.algorithm.function ?? .xxh128)
        // Without a known digest the content has to be read.
        isShared = known?.digest == nil ? false : try content.share(with: staged)
        content.expectAll()
    }

    var id: UInt32 { request.id }
    var subject: String { request.path }

    /// Copies some of the file, and publishes the copy when it is complete.
    ///
    /// - Returns: nil while the copy is incomplete.
    func goOn() throws(Failure) -> TreeChange.Done? {
        if !isShared, try !copySome() { return nil }
        guard content.isUnchanged else { throw Failure(.fileChanged, "\(source) changed while it was copied.") }
        let digest = isShared ? known?.digest : digester.finish().digest
        guard let digest else { throw Failure(.storageFailed, "\(source) could not be copied.") }
        if let stored = known?.digest, stored != digest { throw .contentLost(source) }
        return TreeChange.Done(trash: try publish(digest))
    }

    func fill(_ chunk: AnswerChunk) throws(Failure) -> Outcome? {
        guard chunk.takesMessage, let done = try goOn() else { return nil }
        var outcome = Outcome(id: id, code: .completed, count: 1)
        outcome.trash = done.trash
        outcome.isDurable = resources.isDurable
        return outcome
    }

    /// - Returns: whether the end of the source was reached.
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
            let count = try content.read(into: buffer, at: offset)
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            if count > 0 { try staged.write(bytes, at: offset) }
            digester.update(bytes) { _, _ in }
            // Room is reserved only for the size at the beginning, but other programs can make the source grow without end.
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

    /// - Returns: the trash batch with the replaced file; nil if no file was replaced.
    private func publish(_ digest: Digest) throws(Failure) -> TrashBatch? {
        let attributes = content.attributes
        var publication = Publication(
            staged: staged, id: .random(), path: target, size: attributes.size, digest: digest,
            conflict: request.replaces ? .overwrite : .fail, modified: request.modified ?? attributes.modified,
            permissions: request.permissions ?? attributes.permissions)
        publication.attributes = caller.allowed(request.attributes ?? extra)
        publication.keepsPermissions = request.permissions != nil
        (publication.sender, publication.command, publication.trash) = (sender, command, trash)
        let kind = known?.kind ?? .file
        publication.origin = UploadOrigin(kind, sender: caller.sender, client: caller.id)
        return try resources.intake.publish(copy: publication, kind, for: caller, begun: begun)?.trash
    }

    func events(peer: String) -> [LogEvent] { [.changed(.make(request), peer: peer)] }
}
