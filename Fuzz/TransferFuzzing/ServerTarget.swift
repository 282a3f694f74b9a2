import TransferModel
import TransferProtocol
import TransferTestSupport

/// Input: how many uploads may be without a result (1 byte; highest bit: the rest is a stream of frames instead of
/// pairs of a function code and an argument), then the rest. An unknown function code gives an upload its result, or a
/// request its answer.
enum ServerTarget {
    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        let first = input.byte()
        var walk = ServerWalk(limit: Int(first & 7) + 1)
        guard first & 0x80 == 0 else { return try follow(input.rest(), &walk, seed: first) }
        while !input.isEmpty, !walk.hasEnded {
            let (code, argument) = (input.byte(), input.byte())
            if let function = FunctionCode(rawValue: UInt16(code & 0x3F)) {
                try walk.receive(FrameSource.event(function, argument))
            } else if code & 1 == 0 {
                try walk.answer(Int(argument))
            } else {
                try walk.settle(Int(argument))
            }
        }
    }

    /// Results arrive at random moments, as from a pool of threads.
    private static func follow(_ stream: [UInt8], _ walk: inout ServerWalk, seed: UInt8) throws(Finding) {
        var generator = SplitMix64(seed: UInt64(seed))
        for event in try FrameSource.events(in: stream) where !walk.hasEnded {
            try walk.receive(event)
            if Bool.random(using: &generator) { try walk.answer(.random(in: 0..<256, using: &generator)) }
            if Bool.random(using: &generator) { try walk.settle(.random(in: 0..<256, using: &generator)) }
        }
    }
}
