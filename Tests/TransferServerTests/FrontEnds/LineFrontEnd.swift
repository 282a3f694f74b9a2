import TransferConnection
import TransferIO
import TransferProtocol
import TransferSystem

@testable import TransferServer

/// A minimal front end: it echoes all bytes that it receives, beginning with the first.
struct LineFrontEnd: FrontEnd {
    var name = "lines"
    var protocols = ["lines/1"]

    /// First bytes of each conversation.
    var beginning = Array("LINE ".utf8)

    /// Text sent before the client sends anything.
    var greeting = ""

    var openingSize: Int { beginning.count }

    func recognise(_ opening: [UInt8]) -> Recognition {
        if opening.starts(with: beginning) { return .yes }
        return beginning.starts(with: opening) ? .needsMore : .no
    }

    func connection(for handover: Handover, of core: ServerCore) -> any ServedConnection {
        LineConnection(handover, core, greeting)
    }
}

/// One conversation of the line front end.
private actor LineConnection: ServedConnection {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let driver: ConnectionDriver
    private let core: ServerCore
    private let number: Int
    private let greeting: String
    private let received: [UInt8]
    private let refusal: ProtocolFault?
    private var isEnding = false

    init(_ handover: Handover, _ core: ServerCore, _ greeting: String) {
        (loop, driver, number) = (handover.loop, handover.driver, handover.number)
        (received, refusal) = (handover.received, handover.refusal)
        (self.core, self.greeting) = (core, greeting)
    }

    func run() async -> (any RestingSession)? {
        if let refusal {
            say("no: \(refusal.message)\n")
        } else {
            core.transport.limits.withLock { $0.establish(number) }
            say(greeting)
            say(received)
            await echo()
        }
        await driver.linger(on: loop) { false }
        driver.close()
        return nil
    }

    private func echo() async {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 1)
        defer { buffer.deallocate() }
        while !isEnding {
            switch try? driver.receive(into: buffer) {
            case .bytes(let count): say(Array(buffer[..<count]))
            case .wouldBlock: await driver.wake.wait()
            case .end, nil: isEnding = true
            }
        }
    }

    /// The socket takes the few bytes of a test at once.
    private func say(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        bytes.withUnsafeBytes { _ = try? driver.socket?.send($0) }
    }

    private func say(_ text: String) {
        say(Array(text.utf8))
    }

    func drain() { stop() }

    func stop() {
        say("bye\n")
        isEnding = true
        driver.wake.fire()
    }

    func evict(for fault: ProtocolFault) {
        isEnding = true
        driver.close()
    }
}
