import TransferModel
import TransferTestSupport

@testable import TransferProtocol

/// A server that decides the result of each upload by its ID and holds results back until the test settles them, like a
/// pool of threads.
struct ServerPeer {
    enum Fate: UInt64 {
        case committed, rejectedAtOnce, rejectedAtData, rejectedAtEnd

        init(_ id: UploadID) { self = Fate(rawValue: id.low % 4) ?? .committed }
    }

    private struct Receiving {
        let begin: Begin
        var content: [UInt8] = []
        var isRejected = false
    }

    private(set) var machine = ServerConnection()
    private(set) var stored: [UploadID: [UInt8]] = [:]
    private(set) var isClosing = false
    private var receiving: Receiving?
    private var pending: [UploadResult] = []

    var hasPending: Bool { !pending.isEmpty }

    /// Sends a random one of the pending results.
    mutating func settle(_ link: inout Link, using generator: inout SplitMix64) {
        guard let index = pending.indices.randomElement(using: &generator) else { return }
        let result = pending.remove(at: index)
        machine.settled(result.id)
        link.send(.result(result))
    }

    mutating func receive(_ arrival: Link.Arrival, _ link: inout Link) throws(ProtocolFault) {
        switch arrival {
        case .message(let message): try receive(message, &link)
        case .data(let bytes): if try machine.receiveData() == .store { store(bytes) }
        }
    }

    private mutating func receive(_ message: Message, _ link: inout Link) throws(ProtocolFault) {
        switch try machine.receive(message) {
        case .welcome: link.send(.welcome(Welcome(unacknowledgedUploads: 5)))
        case .begin(let begin): admit(begin, &link)
        case .end(let end): finish(end)
        case .abort: close(.aborted)
        case .reply(let reply): link.send(reply)
        case .close: isClosing = true
        case .block, .resume, .lookup, .request, .cancel, .nothing: break
        }
    }

    private mutating func admit(_ begin: Begin, _ link: inout Link) {
        receiving = Receiving(begin: begin)
        if Fate(begin.id) == .rejectedAtOnce {
            reject(.invalidPath)
        } else if begin.expectsAccept {
            link.send(.accept(begin.id))
        }
    }

    private mutating func store(_ bytes: [UInt8]) {
        guard let open = receiving, !open.isRejected else { return }
        receiving?.content += bytes
        if Fate(open.begin.id) == .rejectedAtData, !bytes.isEmpty { reject(.storageFailed) }
    }

    private mutating func finish(_ end: End) {
        guard let open = receiving, !open.isRejected else { return close(.committed) }
        let isWhole = end.size == UInt64(open.content.count) && Fate(open.begin.id) != .rejectedAtEnd
        if isWhole { stored[open.begin.id] = open.content }
        close(isWhole ? .committed : .digestMismatch)
    }

    /// Ends the upload; a rejected upload already has its result.
    private mutating func close(_ code: ResultCode) {
        if receiving?.isRejected == false { reject(code) }
        receiving = nil
    }

    private mutating func reject(_ code: ResultCode) {
        guard let open = receiving else { return }
        receiving?.isRejected = true
        pending.append(UploadResult(id: open.begin.id, code: code, size: UInt64(open.content.count)))
    }
}
