import TransferCodec
import TransferModel
import TransferProtocol
import TransferSystem

/// Takes the content of one file, block by block, and passes on verified content only.
///
/// `@unchecked Sendable`: only the pool uses it, one call at a time.
final class ReadTaker: AnswerTaker, @unchecked Sendable {
    private let path: String
    /// The delivery whose content is read; nil for a file that has a path on the server.
    private let delivery: Delivery?
    private let function: DigestFunction
    private let context: RequestContext
    private let queue: RequestQueue
    private let tell: @Sendable (DeliveryPart) -> Void
    private let digester: ContentDigester
    /// Opens sealed content; nil if the content is not sealed.
    private let opening: ReadOpening?
    private var content: ArrivingContent?
    /// The received bytes of the block that is not verified yet.
    private var block: [UInt8] = []
    private var version: FileVersion?
    /// Bytes of content that were passed on.
    private var passed: UInt64 = 0
    private var attempts = 0
    /// Why the rest of the content is not wanted; nil if it is.
    private(set) var failure: TransferFailure?

    /// - Parameter tell: receives each piece of content.
    init(
        _ path: String, _ context: RequestContext, _ queue: RequestQueue,
        _ tell: @escaping @Sendable (DeliveryPart) -> Void
    ) {
        (self.path, self.context, self.queue, self.tell) = (path, context, queue, tell)
        (delivery, function, opening) = (nil, context.configuration.digestFunction, nil)
        digester = ContentDigester(function)
    }

    /// - Parameter tell: receives each piece of content, and the end.
    init(
        _ delivery: Delivery, _ opening: ReadOpening?, _ context: RequestContext, _ queue: RequestQueue,
        _ tell: @escaping @Sendable (DeliveryPart) -> Void
    ) {
        (path, self.context, self.queue, self.tell) = (delivery.shownName, context, queue, tell)
        self.opening = opening
        (self.delivery, function) = (delivery, delivery.digest.algorithm.function)
        digester = ContentDigester(function)
    }

    /// The request for the content that was not passed on yet.
    var asked: PendingRequest {
        let request = FetchRequest(
            id: 0, path: delivery == nil ? context.remote(path) : "", digest: function, offset: passed,
            version: passed > 0 ? version : nil, delivery: delivery?.id)
        return PendingRequest(.fetch(request), self)
    }

    func begin(_ file: FetchedFile) -> Taken {
        block.removeAll(keepingCapacity: true)
        guard passed == 0 || (file.version == version && file.offset == passed) else {
            return reject(.fileChanged, "\(path.escapedForDisplay) changed while it was read.")
        }
        guard file.size == delivery?.size ?? file.size else {
            return reject(.sizeMismatch, Failure.otherSize.message)
        }
        if passed == 0 { digester.reset() }
        version = file.version
        content = ArrivingContent(file, function, digester: digester)
        return .wanted
    }

    func take(_ bytes: UnsafeRawBufferPointer) -> Taken {
        guard failure == nil, let content else { return .unwanted }
        guard block.count + bytes.count <= Limits.blockSize,
            passed + UInt64(block.count + bytes.count) <= content.file.size
        else {
            return .fault(ProtocolFault(.unexpectedFrame, "The server sends more of a file than it announced."))
        }
        block.append(contentsOf: bytes)
        return .wanted
    }

    func check(_ digest: BlockDigest) -> Taken {
        guard failure == nil, let content else { return .unwanted }
        guard block.count == Limits.blockSize, digestBlock(content), content.matches(digest) else {
            return reject(.digestMismatch, "\(path.escapedForDisplay) arrived damaged.")
        }
        return pass()
    }

    func end(_ end: End) {
        defer { queue.answered() }
        guard failure == nil, let content else { return }
        do throws(Failure) {
            _ = digestBlock(content)
            let digest = try content.end(end)
            guard digest == delivery?.digest ?? digest else { throw Failure.decayed }
            guard case .wanted = pass() else { return }
            if let rest = try opening?.finish(), !rest.isEmpty { tell(.content(rest)) }
            guard let delivery else { return }
            let verified = VerifiedDelivery(
                delivery, size: content.file.size, computed: digest, isOpened: opening?.isOpened ?? false)
            guard let verified else { throw Failure.otherThanListed }
            tell(.end(verified))
        } catch {
            _ = reject(error.code, error.message)
        }
    }

    func end(_ outcome: Outcome) {
        content = nil
        guard failure == nil else { return queue.answered() }
        attempts += 1
        guard outcome.code.isRetryable, passed == 0, attempts <= context.configuration.retries else {
            _ = reject(outcome.code, outcome.message)
            return queue.answered()
        }
        queue.again(asked)
    }

    func lost() {
        content = nil
        guard failure == nil else { return queue.answered() }
        queue.again(asked)
    }

    /// Digests the whole block at once, so that a block can arrive again after a lost connection.
    private func digestBlock(_ content: ArrivingContent) -> Bool {
        block.withUnsafeBytes { content.take($0) }
    }

    private func pass() -> Taken {
        guard !block.isEmpty else { return .wanted }
        passed += UInt64(block.count)
        defer { block = [] }
        do throws(Failure) {
            let content = try opening?.take(block) ?? block
            if !content.isEmpty { tell(.content(content)) }
            return .wanted
        } catch {
            return reject(error.code, error.message)
        }
    }

    private func reject(_ code: ResultCode, _ message: String) -> Taken {
        failure = failure ?? TransferFailure(reason: .rejected(code), message: message)
        return .unwanted
    }
}
