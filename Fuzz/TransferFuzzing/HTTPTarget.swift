import TransferHTTP

/// Input: 1 byte (highest bit: answers; lowest bits: methods of the requests), a seed for the cuts (2 bytes), the
/// stream.
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
                // Every accepted target is a path below the root.
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
