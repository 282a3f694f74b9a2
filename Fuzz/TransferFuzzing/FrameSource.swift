import TransferModel
import TransferProtocol

/// One frame of a conversation, as a state machine receives it.
enum FrameEvent: Equatable {
    case message(Message)
    case data
}

/// Messages for a fuzzer: of any kind, about few uploads, so that they often fit together.
enum FrameSource {
    /// Number of IDs in messages; number 0 stands for no upload.
    private static let uploads: UInt8 = 12

    private static let digest = Digest(.xxh128, [UInt8](repeating: 7, count: 16))

    static func id(_ number: UInt8) -> UploadID {
        let number = number % uploads
        return number == 0 ? .none : UploadID(high: 1, low: UInt64(number))
    }

    /// The IDs of one to three uploads. The last ID can be the first one again.
    static func ids(_ argument: UInt8) -> [UploadID] {
        (0...argument % 3).map { id((argument / 3 &+ $0 * (argument >> 7 + 1)) % (uploads - 1) + 1) }
    }

    /// - Parameter argument: decides the upload and the values of the message.
    static func event(_ function: FunctionCode, _ argument: UInt8) -> FrameEvent {
        let id = id(argument)
        let number = UInt64(argument)
        switch function {
        case .hello: return .message(.hello(Hello(agent: "fuzz", run: number)))
        case .welcome: return .message(.welcome(welcome(argument)))
        case .ping: return .message(.ping(number))
        case .pong: return .message(.pong(number))
        case .goodbye: return .message(.goodbye(Goodbye(.committed)))
        case .begin: return .message(.begin(Begin(id: id, path: "a", size: number)))
        case .accept: return .message(.accept(id))
        case .data: return .data
        case .block: return .message(.block(BlockDigest(index: number, digest: digest)))
        case .end: return .message(.end(End(size: number, digest: digest)))
        case .abort: return .message(.abort)
        case .received: return .message(.received(Received(id: id, bytes: number)))
        case .result: return .message(.result(UploadResult(id: id, code: argument & 0x40 == 0 ? .committed : .busy)))
        case .resume: return .message(.resume(Begin(id: id, path: "a", size: number, scope: .multipart)))
        case .have: return .message(.have(Have(id: id, first: number, digests: [digest])))
        case .lookup: return .message(.lookup(Lookup(ids(argument), digest: .xxh128)))
        case .unknown: return .message(.unknown(ids(argument)))
        case .receipts: return .message(.receipts(receipts(argument)))
        case .list: return .message(.list(ListRequest(id: request(argument), path: path(argument))))
        case .entries: return .message(.entries(Entries(id: request(argument), [])))
        case .fetch: return .message(.fetch(FetchRequest(id: request(argument), path: path(argument))))
        case .file: return .message(.file(file(argument)))
        case .remove: return .message(.remove(RemoveRequest(id: request(argument), path: path(argument))))
        case .outcome: return .message(.outcome(Outcome(id: request(argument), code: .completed)))
        case .cancel: return .message(.cancel(request(argument)))
        case .compare:
            let folder = FolderDigest(
                count: UInt32(argument), bytes: [UInt8](repeating: argument, count: FolderDigest.size))
            let subject: CompareRequest.Subject = argument & 16 == 0 ? .entries : .uploads(.xxh128)
            return .message(
                .compare(CompareRequest(id: request(argument), subject, in: path(argument), folder)))
        case .make: return .message(.make(MakeRequest(id: request(argument), .directory, path: path(argument))))
        case .move: return .message(.move(MoveRequest(id: request(argument), path: path(argument), to: "q")))
        case .people: return .message(.people(PeopleRequest(id: request(argument), isAboutItself: argument & 8 != 0)))
        case .persons: return .message(.persons(Persons(id: request(argument), [])))
        case .mail:
            let box: MailRequest.Box = argument & 8 == 0 ? .inbox : .sent
            return .message(.mail(MailRequest(id: request(argument), box, watches: argument & 16 != 0)))
        case .deliveries: return .message(.deliveries(Deliveries(id: request(argument), [])))
        case .settle:
            return .message(.settle(SettleRequest(id: request(argument), .delivered, time: 0, [id])))
        case .arrived: return .message(.arrived(number))
        case .introduce: return .message(.introduce(IntroduceRequest(id: request(argument), sealingKey: [argument])))
        }
    }

    /// The ID of one of few requests, so that answers often fit.
    static func request(_ argument: UInt8) -> UInt32 { UInt32(argument % 5) }

    /// A short path, or one so long that a few requests with it reach the limit of open requests.
    static func path(_ argument: UInt8) -> String { argument & 0x80 == 0 ? "p" : longPath }

    private static let longPath = String(repeating: "p", count: 60_000)

    /// Every fourth file begins at an offset that was not requested.
    private static func file(_ argument: UInt8) -> FetchedFile {
        FetchedFile(
            id: request(argument), permissions: 0o644, size: 8 << 20, modified: .init(seconds: 0, nanoseconds: 0),
            version: .none, offset: argument & 0x60 == 0x60 ? 4 << 20 : 0)
    }

    /// Receipts for one to sixteen acknowledgements.
    private static func receipts(_ argument: UInt8) -> SignedBatch {
        SignedBatch(
            number: UInt64(argument), time: 0, count: Int(argument % 16) + 1,
            signature: [UInt8](repeating: argument, count: SignedBatch.signatureSize), sender: "")
    }

    /// Every eighth message has a limit of zero, and some have the largest.
    private static func welcome(_ argument: UInt8) -> Welcome {
        var welcome = Welcome(unacknowledgedUploads: Int(argument % 8))
        if argument >= 0xF0 { welcome.unacknowledgedUploads = .max }
        return welcome
    }

    /// The frames of a recorded stream, up to the first fault.
    static func events(in stream: [UInt8]) throws(Finding) -> [FrameEvent] {
        try FrameReading(stream, arrivingUpTo: CollectionOfOne(stream.count)).frames.map { frame in
            switch frame {
            case .message(let message): .message(message)
            case .data: .data
            }
        }
    }
}
