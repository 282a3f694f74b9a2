import Testing
import TransferClassic
import TransferModel

/// Feeds a conversation like a session: shows the received bytes, and drops the consumed ones.
struct Listener {
    private(set) var conversation: any ClassicConversation
    private(set) var heard: [Heard] = []
    private(set) var steps = 0
    private var buffer: [UInt8] = []
    private var isOver = false

    init(_ framing: ClassicFraming) {
        conversation = framing.conversation()
    }

    /// Whether the stream may end now.
    var isBetweenMessages: Bool { conversation.isBetweenMessages && buffer.isEmpty }

    /// The steps of a stream that arrives in pieces which end at `cuts`.
    static func heard(_ bytes: [UInt8], _ framing: ClassicFraming, cutAt cuts: [Int] = []) -> [Heard] {
        var listener = Listener(framing)
        var start = 0
        for end in cuts + [bytes.count] {
            listener.hear(bytes[start..<end])
            start = end
        }
        return listener.heard
    }

    mutating func hear(_ bytes: some Collection<UInt8>) {
        buffer += bytes
        var start = 0
        while !isOver, let count = step(from: start) { start += count }
        buffer.removeFirst(start)
    }

    /// - Returns: number of consumed bytes, or nil if more bytes are needed.
    private mutating func step(from start: Int) -> Int? {
        steps += 1
        do throws(ClassicFault) {
            var conversation = conversation
            defer { self.conversation = conversation }
            let progress = try conversation.next(buffer.span.bytes.extracting(start...))
            #expect((0...buffer.count - start).contains(progress.consumed))
            take(progress, start)
            return progress.step == .needsMore ? nil : progress.consumed
        } catch {
            heard.append(.fault(error))
            isOver = true
            return nil
        }
    }

    private mutating func take(_ progress: ClassicProgress, _ start: Int) {
        switch progress.step {
        case .needsMore: #expect(progress.consumed == 0)
        case .nothing: break
        case .present(let name): heard.append(.present(name))
        case .begin(let upload): heard.append(.begin(upload))
        case .content(let range):
            #expect(!range.isEmpty && range.upperBound <= progress.consumed)
            append(Array(buffer[(start + range.lowerBound)..<(start + range.upperBound)]))
        case .decoded(let bytes): append(bytes)
        case .end(let end): heard.append(.end(end))
        case .abort: heard.append(.abort)
        case .reply(let bytes): heard.append(.reply(bytes))
        case .close:
            heard.append(.close)
            isOver = true
        }
    }

    private mutating func append(_ bytes: [UInt8]) {
        #expect(!bytes.isEmpty)
        if case .content(let before) = heard.last {
            heard[heard.count - 1] = .content(before + bytes)
        } else {
            heard.append(.content(bytes))
        }
    }
}

extension [UInt8] {
    init(_ text: StaticString) { self = text.withUTF8Buffer { Array($0) } }
}

/// The code of the fault at the end of the steps, or nil.
func faultCode(_ heard: [Heard]) -> String? {
    if case .fault(let fault) = heard.last { fault.code.name } else { nil }
}
