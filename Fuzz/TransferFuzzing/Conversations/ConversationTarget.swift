import TransferModel
import TransferProtocol

/// Input: a script of steps of four bytes each: the action (lowest five bits), the connection among four (next two),
/// whether its bytes wait to be sent with those of the next step (highest bit), and three arguments. The raw bytes that
/// a step sends follow it.
///
/// The server is real from the parser to the store: `FrameParser`, `BinaryWire`, `UploadWorker`, `RequestWorker` and
/// the intake, on a disk that fails and loses power.
enum ConversationTarget {
    /// The largest number of steps in one script: longer scripts would not find more faults.
    private static let mostSteps = 200

    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        let world = try ConversationWorld(seed: UInt64(input.byte()))
        for _ in 0..<mostSteps where !input.isEmpty { try take(&input, world) }
        try world.finish()
    }

    private static func take(_ input: inout FuzzInput, _ world: ConversationWorld) throws(Finding) {
        let (first, a, b, c) = (input.byte(), input.byte(), input.byte(), input.byte())
        let connection = Int(first >> 5 & 3)
        switch first & 31 {
        case 20: world.failDisk(a, after: b)
        case 21: world.failRecords(after: a)
        case 22: world.mend()
        case 23: try world.restart(cuttingPower: false)
        case 24: try world.restart(cuttingPower: true)
        case 25: world.stop()
        case 19: try world.close(connection)
        case 18: try world.cut(connection, to: Int(a))
        case let step:
            let raw = step == 17 ? (0..<a).map { _ in input.byte() } : []
            try world.say(on: connection, waits: first & 0x80 != 0) { client in
                say(step, a, b, c, raw, &client)
            }
        }
    }

    private static func say(
        _ step: UInt8, _ a: UInt8, _ b: UInt8, _ c: UInt8, _ raw: [UInt8], _ client: inout ScriptedClient
    ) {
        let request = UInt32(c & 3)
        switch step {
        case 0: client.say(.hello(Hello(agent: "fuzz", run: UInt64(a & 1))))
        case 1: client.begin(a, b, c)
        case 2: client.beginPart(a, b, c)
        case 3: client.beginMultipart(a, b, c)
        case 4: client.data(a, b)
        case 5: client.block(a, b)
        case 6: client.end(0)
        case 7: client.end(a)
        case 8: client.abort()
        case 9: client.say(.lookup(Lookup(Array(Set([a, b, c].map(ScriptedClient.id))), digest: .xxh128)))
        case 10: client.resume(a, b, c)
        case 11: client.say(.list(ListRequest(id: request, path: b & 1 == 0 ? "" : ScriptedClient.path(a))))
        case 12: client.say(.fetch(FetchRequest(id: request, path: ScriptedClient.path(a))))
        case 13: client.say(.remove(RemoveRequest(id: request, path: ScriptedClient.path(a))))
        case 14: client.say(.cancel(request))
        case 15: client.say(.ping(UInt64(a)))
        case 16: client.say(.goodbye(Goodbye(.committed)))
        case 17: client.say(raw)
        // A whole upload, the most frequent step.
        default:
            if step & 1 == 0 { client.begin(a, b, c) } else { client.beginPart(a, b, c) }
            client.data(5, 4)
            client.end(0)
        }
    }
}
