import TransferHTTP

/// Input: what is read (1 byte: the highest bit for answers, the lowest ones for what was asked), a seed for the cuts (2 bytes),
/// the stream.
enum HTTPTarget {
    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        let first = input.byte()
        let seed = input.integer(UInt16.self)
        let stream = input.rest()
        let reading = try Cuts.check(stream.count, seed: seed) { (ends) throws(Finding) in
            first & 0x80 == 0
                ? try HTTPReading(requests: stream, arrivingUpTo: ends)
                : try HTTPReading(answers: stream, to: first, arrivingUpTo: ends)
        }
        try checkOrder(reading)
        if let fault = reading.fault {
            try require((400...599).contains(fault.status), "A fault has the status \(fault.status).")
        }
    }

    private static func checkOrder(_ reading: HTTPReading) throws(Finding) {
        var isOpen = false
        for step in reading.steps {
            switch step {
            case .request(let head, _):
                try require(!isOpen, "A message begins in another.")
                isOpen = true
                // Whatever is asked for lies below the top.
                try FieldTarget.check(path: Array(head.target.utf8))
            case .answer:
                try require(!isOpen, "A message begins in another.")
                isOpen = true
            case .informational: try require(!isOpen, "An answer comes in another.")
            case .content: try require(isOpen, "Content of no message.")
            case .end:
                try require(isOpen, "A message ends that has not begun.")
                isOpen = false
            }
        }
    }
}
