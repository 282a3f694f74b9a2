package import TransferModel

/// The decoded body of any frame but `data`.
package enum Message: Equatable, Sendable {
    case hello(Hello)
    case welcome(Welcome)
    /// A number that the answering `pong` repeats.
    case ping(UInt64)
    case pong(UInt64)
    case goodbye(Goodbye)
    case begin(Begin)
    case accept(UploadID)
    case block(BlockDigest)
    case end(End)
    case abort
    case received(Received)
    case result(UploadResult)
    /// Asks which blocks of a multipart upload the server has; the content is that of the `begin` that will follow.
    case resume(Begin)
    case have(Have)
    case lookup(Lookup)
    /// Uploads that were looked up and have no valid acknowledgement.
    case unknown([UploadID])
    case receipts(SignedBatch)
    case list(ListRequest)
    case entries(Entries)
    case fetch(FetchRequest)
    case file(FetchedFile)
    case remove(RemoveRequest)
    case outcome(Outcome)
    /// Ends a request that has no answer yet, as soon as the server can do so.
    case cancel(UInt32)
    case compare(CompareRequest)
    case make(MakeRequest)
    case move(MoveRequest)
    case people(PeopleRequest)
    case persons(Persons)
    case mail(MailRequest)
    case deliveries(Deliveries)
    case settle(SettleRequest)
    /// The number of the newest delivery to the client.
    case arrived(UInt64)
    case introduce(IntroduceRequest)

    package var function: FunctionCode {
        switch self {
        case .hello: .hello
        case .welcome: .welcome
        case .ping: .ping
        case .pong: .pong
        case .goodbye: .goodbye
        case .begin: .begin
        case .accept: .accept
        case .block: .block
        case .end: .end
        case .abort: .abort
        case .received: .received
        case .result: .result
        case .resume: .resume
        case .have: .have
        case .lookup: .lookup
        case .unknown: .unknown
        case .receipts: .receipts
        case .list: .list
        case .entries: .entries
        case .fetch: .fetch
        case .file: .file
        case .remove: .remove
        case .outcome: .outcome
        case .cancel: .cancel
        case .compare: .compare
        case .make: .make
        case .move: .move
        case .people: .people
        case .persons: .persons
        case .mail: .mail
        case .deliveries: .deliveries
        case .settle: .settle
        case .arrived: .arrived
        case .introduce: .introduce
        }
    }

    /// Appends the whole frame, header included.
    package func encode(into bytes: inout [UInt8]) {
        let start = bytes.count
        FrameHeader(function, bodyLength: 0).encode(into: &bytes)
        encodeBody(into: &bytes)
        if function.isChecked { bytes.appendCheck(from: start + FrameHeader.shortSize) }
        let length = bytes.count - start - FrameHeader.shortSize
        // Trap: every part of a body is bounded where it is written: texts and paths are cut, and ids, digests and
        // entries are limited to what fits.
        precondition(length <= Limits.controlBody, "a \(function) body of \(length) bytes")
        bytes.replace(bigEndian: UInt16(length), at: start + FrameHeader.shortSize - 2)
    }

    private func encodeBody(into bytes: inout [UInt8]) {
        switch self {
        case .hello(let hello): hello.encode(into: &bytes)
        case .welcome(let welcome): welcome.encode(into: &bytes)
        case .ping(let token), .pong(let token): bytes.append(bigEndian: token)
        case .goodbye(let goodbye): goodbye.encode(into: &bytes)
        case .begin(let begin), .resume(let begin): begin.encode(into: &bytes)
        case .accept(let id): id.encode(into: &bytes)
        case .block(let block): block.encode(into: &bytes)
        case .end(let end): end.encode(into: &bytes)
        case .abort: break
        case .received(let received): received.encode(into: &bytes)
        case .result(let result): result.encode(into: &bytes)
        case .have(let have): have.encode(into: &bytes)
        case .lookup(let lookup): lookup.encode(into: &bytes)
        case .unknown(let ids): bytes.append(ids: ids)
        case .receipts(let receipts): receipts.encode(into: &bytes)
        case .list(let list): list.encode(into: &bytes)
        case .entries(let entries): entries.encode(into: &bytes)
        case .fetch(let fetch): fetch.encode(into: &bytes)
        case .file(let file): file.encode(into: &bytes)
        case .remove(let remove): remove.encode(into: &bytes)
        case .outcome(let outcome): outcome.encode(into: &bytes)
        case .cancel(let id): bytes.append(bigEndian: id)
        case .compare(let compare): compare.encode(into: &bytes)
        case .make(let make): make.encode(into: &bytes)
        case .move(let move): move.encode(into: &bytes)
        case .people(let people): people.encode(into: &bytes)
        case .persons(let persons): persons.encode(into: &bytes)
        case .mail(let mail): mail.encode(into: &bytes)
        case .deliveries(let deliveries): deliveries.encode(into: &bytes)
        case .settle(let settle): settle.encode(into: &bytes)
        case .arrived(let number): bytes.append(bigEndian: number)
        case .introduce(let introduce): introduce.encode(into: &bytes)
        }
    }

    /// - Parameter function: any code but `data`, whose bodies are not messages.
    /// - Throws: `damagedFrame` if a check doesn't match or is missing; `malformedFrame` and others.
    package static func decode(_ function: FunctionCode, body: RawSpan) throws(ProtocolFault) -> Message {
        try body.withUnsafeBytes { (bytes) throws(ProtocolFault) -> Message in
            var reader = BodyReader(bytes)
            let message = try decode(function, &reader)
            guard reader.hasCheck || !function.isChecked else { throw .unchecked }
            return message
        }
    }

    private static func decode(_ function: FunctionCode, _ reader: inout BodyReader) throws(ProtocolFault) -> Message {
        switch function {
        case .hello: return .hello(try Hello(&reader))
        case .welcome: return .welcome(try Welcome(&reader))
        case .goodbye: return .goodbye(try Goodbye(&reader))
        case .begin:
            let begin = try Begin(&reader)
            guard begin.scope != .multipart || begin.size != nil else {
                throw .malformed("A multipart upload must declare its size.")
            }
            return .begin(begin)
        case .resume:
            let begin = try Begin(&reader)
            guard begin.scope == .multipart else { throw .malformed("Only an upload in parts can be resumed.") }
            return .resume(begin)
        case .result: return .result(try UploadResult(&reader))
        case .receipts: return .receipts(try SignedBatch(&reader))
        case .accept:
            let id = try reader.uploadID()
            _ = try reader.fields(known: [])
            return .accept(id)
        case .lookup: return .lookup(try Lookup(&reader))
        case .unknown:
            let ids = try reader.uploadIDs()
            _ = try reader.fields(known: [])
            return .unknown(ids)
        case .list, .entries, .fetch, .file, .remove, .outcome, .cancel, .compare, .make, .move:
            return try decodeRequest(function, &reader)
        case .people, .persons, .mail, .deliveries, .settle, .arrived, .introduce:
            return try decodeMail(function, &reader)
        case .ping, .pong, .block, .end, .abort, .received, .have:
            let message = try decodeFixed(function, &reader)
            try reader.finish()
            return message
        case .data: throw .malformed("The body of a data frame is not a message.")
        }
    }

    private static func decodeRequest(
        _ function: FunctionCode, _ reader: inout BodyReader
    ) throws(ProtocolFault) -> Message {
        switch function {
        case .list: return .list(try ListRequest(&reader))
        case .entries: return .entries(try Entries(&reader))
        case .fetch: return .fetch(try FetchRequest(&reader))
        case .file: return .file(try FetchedFile(&reader))
        case .remove: return .remove(try RemoveRequest(&reader))
        case .compare: return .compare(try CompareRequest(&reader))
        case .make: return .make(try MakeRequest(&reader))
        case .move: return .move(try MoveRequest(&reader))
        case .outcome: return .outcome(try Outcome(&reader))
        case .cancel:
            let id = try reader.integer(UInt32.self)
            _ = try reader.fields(known: [])
            return .cancel(id)
        default: throw .malformed("A \(function) frame does not belong to a request.")
        }
    }

    private static func decodeMail(_ function: FunctionCode, _ reader: inout BodyReader) throws(ProtocolFault)
        -> Message
    {
        switch function {
        case .people: return .people(try PeopleRequest(&reader))
        case .persons: return .persons(try Persons(&reader))
        case .mail: return .mail(try MailRequest(&reader))
        case .deliveries: return .deliveries(try Deliveries(&reader))
        case .settle: return .settle(try SettleRequest(&reader))
        case .introduce: return .introduce(try IntroduceRequest(&reader))
        case .arrived:
            let number = try reader.integer(UInt64.self)
            _ = try reader.fields(known: [])
            return .arrived(number)
        default: throw .malformed("A \(function) frame does not belong to mail.")
        }
    }

    private static func decodeFixed(
        _ function: FunctionCode, _ reader: inout BodyReader
    ) throws(ProtocolFault) -> Message {
        switch function {
        case .ping: .ping(try reader.integer(UInt64.self))
        case .pong: .pong(try reader.integer(UInt64.self))
        case .block: .block(try BlockDigest(&reader))
        case .end: .end(try End(&reader))
        case .abort: .abort
        case .received: .received(try Received(&reader))
        case .have: .have(try Have(&reader))
        default: throw .malformed("A \(function) frame must have optional fields.")
        }
    }
}
