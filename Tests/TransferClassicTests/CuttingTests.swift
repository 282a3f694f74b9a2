import Testing
import TransferClassic
import TransferTestSupport

/// Every framing gives equal steps, however the stream is cut.
@Suite struct CuttingTests {
    @Test(arguments: Sample.all.indices) func inTwoAnywhere(_ index: Int) {
        let (framing, bytes) = Sample.all[index]
        let heard = Listener.heard(bytes, framing)
        #expect(faultCode(heard) == nil)
        for cut in 0...bytes.count {
            guard Listener.heard(bytes, framing, cutAt: [cut]) == heard else {
                Issue.record("other steps of \(framing.name) when cut at \(cut)")
                return
            }
        }
    }

    @Test(arguments: Sample.all.indices) func byteByByte(_ index: Int) {
        let (framing, bytes) = Sample.all[index]
        #expect(Listener.heard(bytes, framing, cutAt: Array(bytes.indices)) == Listener.heard(bytes, framing))
    }

    @Test(arguments: Sample.all.indices) func randomCuts(_ index: Int) {
        let (framing, bytes) = Sample.all[index]
        var generator = SplitMix64(seed: UInt64(index))
        for _ in 0..<50 {
            let cuts = (0..<Int.random(in: 1...20, using: &generator)).map { _ in
                Int.random(in: 0...bytes.count, using: &generator)
            }
            #expect(Listener.heard(bytes, framing, cutAt: cuts.sorted()) == Listener.heard(bytes, framing))
        }
    }

    /// The stream may end between messages, and nowhere else.
    @Test(arguments: Sample.all.indices) func betweenMessages(_ index: Int) {
        let (framing, bytes) = Sample.all[index]
        var listener = Listener(framing)
        #expect(listener.isBetweenMessages)
        for byte in bytes where listener.heard.last != .close {
            listener.hear([byte])
            let begins = listener.heard.count { if case .begin = $0 { true } else { false } }
            let ends = listener.heard.count { if case .end = $0 { true } else { $0 == .abort } }
            if begins > ends { #expect(!listener.isBetweenMessages) }
        }
        #expect(listener.isBetweenMessages)
    }

    @Test(arguments: Sample.all.indices) func damagedConversationsNeverTrap(_ index: Int) {
        let (framing, bytes) = Sample.all[index]
        var generator = SplitMix64(seed: 20 + UInt64(index))
        for _ in 0..<400 {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                damaged[Int.random(in: damaged.indices, using: &generator)] = generator.bytes(1)[0]
            }
            let cut = Int.random(in: 0...bytes.count, using: &generator)
            #expect(Listener.heard(damaged, framing, cutAt: [cut]) == Listener.heard(damaged, framing))
        }
    }

    @Test(arguments: Sample.all.indices) func randomBytesNeverTrap(_ index: Int) {
        let framing = Sample.all[index].framing
        var generator = SplitMix64(seed: 40 + UInt64(index))
        for _ in 0..<1_000 {
            _ = Listener.heard(generator.bytes(Int.random(in: 0...80, using: &generator)), framing)
        }
    }
}
