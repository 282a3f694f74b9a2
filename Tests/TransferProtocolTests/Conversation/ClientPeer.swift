import TransferModel
import TransferTestSupport

@testable import TransferProtocol

/// A client that pushes the given uploads, one frame per call.
struct ClientPeer {
    struct Upload {
        let begin: Begin
        let pieces: [[UInt8]]
        let isAborted: Bool

        var content: [UInt8] { Array(pieces.joined()) }
    }

    private struct Current {
        let upload: Upload
        var next = 0
        var mayFlow: Bool
    }

    private(set) var machine = ClientConnection()
    private(set) var results: [UploadID: UploadResult] = [:]
    private(set) var hasSaidGoodbye = false
    private var uploads: ArraySlice<Upload>
    private var current: Current?

    init(_ uploads: [Upload], to link: inout Link) {
        self.uploads = uploads[...]
        link.send(.hello(Hello(agent: "test")))
    }

    /// Sends the next frame, if the state allows one.
    mutating func act(_ link: inout Link, using generator: inout SplitMix64) {
        if let upload = current {
            proceed(upload, &link)
        } else if let upload = uploads.first {
            guard machine.allowance > 0 else { return }
            uploads.removeFirst()
            machine.began(upload.begin.id)
            link.send(.begin(upload.begin))
            current = Current(upload: upload, mayFlow: !upload.begin.expectsAccept)
        } else if !hasSaidGoodbye, machine.isSettled || Bool.random(using: &generator) {
            hasSaidGoodbye = true
            link.send(.goodbye(Goodbye(.committed)))
        }
    }

    private mutating func proceed(_ upload: Current, _ link: inout Link) {
        let isOver = results[upload.upload.begin.id] != nil
        if isOver || (upload.upload.isAborted && upload.next == upload.upload.pieces.count) {
            link.send(.abort)
            current = nil
        } else if upload.mayFlow, upload.next < upload.upload.pieces.count {
            link.send(data: upload.upload.pieces[upload.next])
            current?.next += 1
        } else if upload.mayFlow {
            link.send(.end(End(size: UInt64(upload.upload.content.count), digest: Sample.xxh128)))
            current = nil
        }
    }

    /// - Throws: also for messages that a client would not expect from its machine.
    mutating func receive(_ arrival: Link.Arrival, _ link: inout Link) throws(ProtocolFault) {
        guard case .message(let message) = arrival else {
            throw ProtocolFault(.unexpectedFrame, "The server sent data.")
        }
        switch try machine.receive(message) {
        case .accepted(let id):
            guard current?.upload.begin.id == id else { return }
            current?.mayFlow = true
        case .finished(let result), .acknowledged(let result): results[result.id] = result
        case .reply(let reply): if !hasSaidGoodbye { link.send(reply) }
        case .refused(let result): throw ProtocolFault(result.code, result.message)
        case .welcomed, .found, .known, .unknown, .receipts, .progress, .leaving, .entries, .file, .block, .fetched,
            .outcome, .persons, .deliveries, .arrived, .nothing:
            break
        }
    }
}
