import Testing
import TransferHTTP

/// Shows a stream to a reader in pieces, like a connection, and checks each step.
enum MessageListener {
    typealias Step = (UnsafeRawBufferPointer) throws(HTTPFault) -> (heard: HeardMessage?, consumed: Int)

    static func requests(_ bytes: [UInt8], cutAt cuts: [Int] = []) -> [HeardMessage] {
        var reader = RequestReader()
        return heard(bytes, cuts) { (shown) throws(HTTPFault) in
            let (step, consumed) = try reader.next(shown)
            if case .content(let range) = step { check(!range.isEmpty && range.upperBound == consumed) }
            return (HeardMessage(step, shown), consumed)
        }
    }

    static func requests(_ text: String, cutAt cuts: [Int] = []) -> [HeardMessage] {
        requests(Array(text.utf8), cutAt: cuts)
    }

    /// - Parameter closes: whether the server closes the connection after the bytes.
    static func answers(
        _ text: String, to methods: [HTTPMethod] = [.get], cutAt cuts: [Int] = [], closes: Bool = false
    ) -> [HeardMessage] {
        var reader = ResponseReader()
        for method in methods { reader.expect(method) }
        let step: Step = { (shown) throws(HTTPFault) in
            let (step, consumed) = try reader.next(shown)
            if case .content(let range) = step { check(!range.isEmpty && range.upperBound == consumed) }
            return (HeardMessage(step, shown), consumed)
        }
        var all = heard(Array(text.utf8), cuts, step)
        guard closes, all.last?.fault == nil else { return all }
        do throws(HTTPFault) {
            try reader.closed()
            all += heard([], [], step)
        } catch {
            all.append(.fault(error))
        }
        return all
    }

    /// All steps up to `needsMore` after the last byte, or up to the first fault; pieces of content are joined.
    static func heard(_ bytes: [UInt8], _ cuts: [Int], _ next: Step) -> [HeardMessage] {
        var all: [HeardMessage] = []
        var front = 0
        for end in cuts + [bytes.count] {
            do throws(HTTPFault) {
                try take(&all, bytes, &front, end, next)
            } catch {
                check((try? again(next)) == nil)
                return all + [.fault(error)]
            }
            check(end - front <= RequestReader.window)
        }
        return all
    }

    private static func take(
        _ all: inout [HeardMessage], _ bytes: [UInt8], _ front: inout Int, _ end: Int, _ next: Step
    ) throws(HTTPFault) {
        while true {
            let result = bytes.withUnsafeBytes { shown in
                let shown = UnsafeRawBufferPointer(rebasing: shown[front..<end])
                return Result { () throws(HTTPFault) in try next(shown) }
            }
            let (heard, consumed) = try result.get()
            check((0...end - front).contains(consumed))
            front += consumed
            guard let heard else { return }
            if case .content(let more) = heard, case .content(let some) = all.last {
                all[all.count - 1] = .content(some + more)
            } else {
                all.append(heard)
            }
        }
    }

    /// `#expect` would take longer than a step.
    private static func check(_ isRight: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
        if !isRight { Issue.record("a step that no reader may take", sourceLocation: sourceLocation) }
    }

    /// After a fault, a reader always throws that fault.
    private static func again(_ next: Step) throws {
        _ = try Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8).withUnsafeBytes { try next($0) }
    }
}

extension MessageListener {
    /// Checks that the steps are equal with a cut at any byte, and with cuts at all bytes.
    static func expectSameHoweverCut(
        _ count: Int, _ whole: [HeardMessage], _ listen: ([Int]) -> [HeardMessage],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for cuts in (0...count).map({ [$0] }) + [Array(0...count)] where listen(cuts) != whole {
            Issue.record("cut at \(cuts): \(listen(cuts)) and not \(whole)", sourceLocation: sourceLocation)
        }
    }

    /// Steps of a request, which must be equal however it is cut.
    static func everyWay(
        _ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation
    ) -> [HeardMessage] {
        let whole = requests(bytes)
        expectSameHoweverCut(bytes.count, whole, { requests(bytes, cutAt: $0) }, sourceLocation: sourceLocation)
        return whole
    }

    static func everyWay(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) -> [HeardMessage] {
        everyWay(Array(text.utf8), sourceLocation: sourceLocation)
    }
}
