import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferIO

@Suite struct TLSSessionTests {
    @Test func bothSidesAgree() throws {
        let pair = try TLSPair()
        try pair.shake()
        #expect(pair.isEstablished)
        let key = try #require(pair.client.session.peerKey)
        let expected = try TLSPair.serverContext.get().key
        #expect(key == expected && key.isEd25519)
        #expect(pair.server.session.peerKey == nil)
        #expect(!pair.client.session.isResumed && !pair.server.session.isResumed)
        #expect(try pair.server.decrypt(pair.client.encrypt([1, 2, 3])).bytes == [1, 2, 3])
        #expect(try pair.client.decrypt(pair.server.encrypt([4])).bytes == [4])
    }

    @Test func aClientMayShowAKey() throws {
        let context = try TLSContext.client(.ed25519(seed: TLSPair.clientSeed))
        let pair = try TLSPair(context)
        try pair.shake()
        #expect(pair.server.session.peerKey == context.key)
        #expect(context.key?.bytes.count == 32)
    }

    @Test(arguments: [true, false]) func aLaterConversationGoesOnFromAnEarlierOne(_ showsKey: Bool) throws {
        let context = try TLSContext.client(showsKey ? .ed25519(seed: TLSPair.clientSeed) : nil)
        let first = try TLSPair(context)
        try first.shake()
        // The server sends the ticket after the handshake.
        _ = try first.client.decrypt(first.server.encrypt([1]))
        let second = try TLSPair(context) { _, _ in
            Issue.record("nobody shows a certificate again")
            return false
        }
        try second.shake()
        #expect(second.isEstablished && second.client.session.isResumed && second.server.session.isResumed)
        #expect(second.client.session.peerKey == first.client.session.peerKey)
        #expect(second.server.session.peerKey == context.key)
        #expect(try second.server.decrypt(second.client.encrypt([5])).bytes == [5])
    }

    /// Both sides have the same binding; no other conversation has it, not even one that resumes this one.
    @Test func aConversationHasABindingOfItsOwn() throws {
        let context = try TLSContext.client()
        let pairs = try (0..<3).map { _ in
            let pair = try TLSPair(context)
            #expect(pair.client.session.channelBinding == nil)
            try pair.shake()
            _ = try pair.client.decrypt(pair.server.encrypt([1]))
            return pair
        }
        for pair in pairs {
            #expect(pair.client.session.channelBinding?.count == 32)
            #expect(pair.client.session.channelBinding == pair.server.session.channelBinding)
        }
        #expect(Set(pairs.map(\.client.session.channelBinding)).count == 3 && pairs[2].client.session.isResumed)
    }

    @Test func theJudgeIsAskedAboutTheServersKey() throws {
        let seen = Locked<(key: TLSKey, problem: TLSProblem?)?>(nil)
        let pair = try TLSPair { key, check in
            let problem = check()
            seen.withLock { $0 = (key, problem) }
            return false
        }
        #expect(throws: TLSFault.untrusted) { try pair.shake() }
        let found = seen.withLock { $0 }
        let expected = try TLSPair.serverContext.get().key
        #expect(found?.key == expected)
        #expect(found?.problem == .unknownIssuer)
        // The client informs the server by an alert.
        let alert = pair.client.written
        #expect(throws: TLSFault.self) { try pair.server.shake(alert) }
        #expect(!pair.server.isEstablished)
    }

    @Test func aClientThatTrustsNobodyTrustsNobody() throws {
        let client = try TLSSide(.client())
        let server = try TLSSide(TLSPair.serverContext.get())
        let flight = try server.shake(client.shake())
        #expect(throws: TLSFault.untrusted) { try client.shake(flight) }
    }

    // MARK: Cuts

    @Test func oneByteAtATime() throws {
        let pair = try TLSPair()
        try pair.shake(up: { $0.map { [$0] } }, down: { $0.map { [$0] } })
        #expect(pair.isEstablished)
        let content = SplitMix64.bytes(seed: 1, 40_000)
        var received: [UInt8] = []
        for byte in try pair.client.encrypt(content) { received += try pair.server.decrypt([byte]).bytes }
        #expect(received == content)
    }

    @Test(arguments: [true, false]) func aCutAnywhere(up: Bool) throws {
        var (position, longest) = (1, 2)
        while position < longest {
            let cut = { (flight: [UInt8]) -> [[UInt8]] in
                longest = max(longest, flight.count)
                let place = min(position, flight.count)
                return [Array(flight[..<place]), Array(flight[place...])]
            }
            let pair = try TLSPair()
            try up ? pair.shake(up: cut) : pair.shake(down: cut)
            #expect(pair.isEstablished, "cut at \(position)")
            #expect(try pair.server.decrypt(pair.client.encrypt([1])).bytes == [1])
            position += 1
        }
        #expect(longest > 200)
    }

    /// Two sides never finish the handshake with different results because a bit was flipped.
    @Test(arguments: [true, false]) func aFlippedBitAnywhere(up: Bool) throws {
        var random = SplitMix64(seed: 5)
        var (position, longest) = (0, 1)
        var failures = 0
        while position < longest {
            let flip = { (flight: [UInt8]) -> [[UInt8]] in
                longest = max(longest, flight.count)
                guard position < flight.count else { return [flight] }
                var flight = flight
                flight[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                return [flight]
            }
            let pair = try TLSPair()
            do {
                try up ? pair.shake(up: flip) : pair.shake(down: flip)
                if pair.isEstablished {
                    #expect(try pair.server.decrypt(pair.client.encrypt([1])).bytes == [1], "flipped at \(position)")
                }
            } catch {
                #expect(error is TLSFault)
                failures += 1
            }
            position += 1
        }
        #expect(failures > longest / 2)
    }

    @Test func garbageIsRefused() throws {
        for seed in 0..<200 as Range<UInt64> {
            var garbage = SplitMix64.bytes(seed: seed, 300)
            if seed % 2 == 0 { garbage.replaceSubrange(0..<3, with: [22, 3, 1]) }
            let server = try TLSSide(TLSPair.serverContext.get())
            let client = try TLSSide(.client(), judge: TLSPair.trusting)
            _ = try client.shake()
            for side in [server, client] {
                _ = try? side.shake(garbage)
                #expect(!side.isEstablished, "seed \(seed)")
            }
        }
    }

    // MARK: The end

    @Test func aCloseIsSaid() throws {
        let pair = try TLSPair()
        try pair.shake()
        let last = try pair.client.encrypt([8]) + pair.client.close()
        let found = try pair.server.decrypt(last)
        #expect(found.bytes == [8] && found.isClosed)
        // The other direction stays open.
        #expect(try pair.client.decrypt(pair.server.encrypt([9])).bytes == [9])
    }

    @Test func aChangedRecordIsNotRead() throws {
        let pair = try TLSPair()
        try pair.shake()
        var record = try pair.client.encrypt([1, 2, 3])
        record[record.count - 1] ^= 1
        #expect(throws: TLSFault.self) { try pair.server.decrypt(record) }
    }

    // MARK: The profile

    /// A minimal ClientHello of TLS 1.2.
    @Test func earlierVersionsAreRefused() throws {
        let body: [UInt8] =
            [3, 3] + SplitMix64.bytes(seed: 4, 32) + [0, 0, 4, 0xC0, 0x2B, 0xC0, 0x2F, 1, 0]
        let hello: [UInt8] = [22, 3, 1, 0, UInt8(body.count + 4), 1, 0, 0, UInt8(body.count)] + body
        let server = try TLSSide(TLSPair.serverContext.get())
        #expect(throws: TLSFault.broken("unsupported protocol")) { try server.shake(hello) }
        // A fatal alert: protocol_version (RFC 8446, section 6.2).
        #expect(server.written.first == 21 && server.written.suffix(2) == [2, 70])
    }

    @Test func theCipherSuitsTheMachine() throws {
        let pair = try TLSPair()
        try pair.shake()
        let ciphers = ["TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"]
        #expect(ciphers.contains(pair.client.session.cipher))
        #expect(pair.client.session.cipher == pair.server.session.cipher)
    }
}
