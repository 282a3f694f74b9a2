import TransferCodec
import TransferModel
import TransferProtocol
import TransferSystem

/// Takes the content of one file, block by block, and passes on what is verified and nothing else.
///
/// `@unchecked Sendable`: it is the pool's, one call at a time.
final class ReadTaker: AnswerTaker, @unchecked Sendable {
    private let path: String
    private let context: RequestContext
    private let queue: RequestQueue
    private let events: EventQueue<[UInt8]>
    private let digester: ContentDigester
    private var content: ArrivingContent?
    /// What has come of the block that is not verified.
    private var block: [UInt8] = []
    private var version: FileVersion?
    /// Bytes that were passed on.
    private var passed: UInt64 = 0
    private var attempts = 0
    /// Why no more is wanted.
    private(set) var failure: PushFailure?

    init(_ path: String, _ context: RequestContext, _ queue: RequestQueue, _ events: EventQueue<[UInt8]>) {
        (self.path, self.context, self.queue, self.events) = (path, context, queue, events)
        digester = ContentDigester(context.configuration.digest)
    }

    /// With what is to be asked now.
    var asked: PendingRequest {
        let request = FetchRequest(
            id: 0, path: context.remote(path), digest: context.configuration.digest, offset: passed,
            version: passed > 0 ? version : nil)
        return PendingRequest(.fetch(request), self)
    }

    func begin(_ file: FetchedFile) -> Taken {
        block.removeAll(keepingCapacity: true)
        guard passed == 0 || (file.version == version && file.offset == passed) else {
            return reject(.fileChanged, "\(path.escapedForDisplay) changed while it was read.")
        }
        if passed == 0 { digester.reset() }
        version = file.version
        content = ArrivingContent(file, context.configuration.digest, digester: digester)
        return .wanted
    }

    func take(_ bytes: UnsafeRawBufferPointer) -> Taken {
        guard failure == nil, let content else { return .unwanted }
        guard block.count + bytes.count <= Limits.blockSize,
            passed + UInt64(block.count + bytes.count) <= content.file.size
        else {
            return .fault(ProtocolFault(.unexpectedFrame, "The server sends more of a file than it says."))
        }
        block.append(contentsOf: bytes)
        return .wanted
    }

    func check(_ digest: BlockDigest) -> Taken {
        guard failure == nil, let content else { return .unwanted }
        guard block.count == Limits.blockSize, digestBlock(content), content.matches(digest) else {
            return reject(.digestMismatch, "\(path.escapedForDisplay) arrived damaged.")
        }
        pass()
        return .wanted
    }

    func end(_ end: End) {
        defer { queue.answered() }
        guard failure == nil, let content else { return }
        do throws(LocalFailure) {
            _ = digestBlock(content)
            _ = try content.end(end)
            pass()
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

    /// Not piece by piece, so that after a lost connection a block can come again.
    private func digestBlock(_ content: ArrivingContent) -> Bool {
        block.withUnsafeBytes { content.take($0) }
    }

    private func pass() {
        guard !block.isEmpty else { return }
        passed += UInt64(block.count)
        events.send(block)
        block = []
    }

    private func reject(_ code: ResultCode, _ message: String) -> Taken {
        failure = failure ?? PushFailure(reason: .rejected(code), message: message)
        return .unwanted
    }
}
