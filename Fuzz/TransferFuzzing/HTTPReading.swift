import TransferHTTP

/// Result of the HTTP readers for a stream that arrives in pieces: their steps, with connected content in one piece,
/// and the fault at the end.
struct HTTPReading: Equatable {
    enum Step: Equatable {
        case request(RequestHead, BodyFraming)
        case informational(ResponseHead)
        case answer(ResponseHead, BodyFraming)
        case content([UInt8])
        case end(HTTPFields)
    }

    /// Number of requests that answers are read for.
    private static let asked = 4

    private(set) var steps: [Step] = []
    private(set) var fault: HTTPFault?

    init(requests stream: [UInt8], arrivingUpTo ends: [Int]) throws(Finding) {
        var reader = RequestReader()
        try read(stream, ends) { (reading, shown, position) throws(HTTPFault) in
            let (step, consumed) = try shown.withUnsafeBytes { (bytes) throws(HTTPFault) in try reader.next(bytes) }
            switch step {
            case .needsMore: return (consumed, false)
            case .head(let head, let framing): reading.steps.append(.request(head, framing))
            case .content(let range): reading.append(stream, range, position)
            case .end(let trailers): reading.steps.append(.end(trailers))
            }
            return (consumed, true)
        }
    }

    /// - Parameter methods: its lowest bits decide which requests have the method HEAD.
    init(answers stream: [UInt8], to methods: UInt8, arrivingUpTo ends: [Int]) throws(Finding) {
        var reader = ResponseReader()
        for number in 0..<Self.asked { reader.expect(methods >> number & 1 == 0 ? .get : .head) }
        try read(stream, ends) { (reading, shown, position) throws(HTTPFault) in
            let (step, consumed) = try shown.withUnsafeBytes { (bytes) throws(HTTPFault) in try reader.next(bytes) }
            switch step {
            case .needsMore: return (consumed, false)
            case .informational(let head): reading.steps.append(.informational(head))
            case .head(let head, let framing): reading.steps.append(.answer(head, framing))
            case .content(let range): reading.append(stream, range, position)
            case .end(let trailers): reading.steps.append(.end(trailers))
            }
            return (consumed, true)
        }
    }

    /// - Parameter next: takes one step; returns the number of consumed bytes, and whether another step may follow.
    private mutating func read(
        _ stream: [UInt8], _ ends: [Int],
        _ next: (inout Self, RawSpan, Int) throws(HTTPFault) -> (consumed: Int, goesOn: Bool)
    ) throws(Finding) {
        var position = 0
        for end in ends where fault == nil {
            while true {
                let shown = stream.span.bytes.extracting(position..<end)
                do throws(HTTPFault) {
                    let (consumed, goesOn) = try next(&self, shown, position)
                    guard (0...shown.byteCount).contains(consumed) else { throw HTTPFault(0, "too much consumed") }
                    position += consumed
                    guard goesOn else { break }
                } catch {
                    fault = error
                    break
                }
            }
        }
    }

    private mutating func append(_ stream: [UInt8], _ range: Range<Int>, _ position: Int) {
        let bytes = Array(stream[(position + range.lowerBound)..<(position + range.upperBound)])
        guard case .content(let before) = steps.last else { return steps.append(.content(bytes)) }
        steps[steps.count - 1] = .content(before + bytes)
    }
}
