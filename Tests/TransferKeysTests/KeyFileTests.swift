import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferKeys

@Suite struct KeyFileTests {
    private static let wording = KeyPair.Wording(name: "The key", harm: "harm", remedy: "Remedy.", repair: "Repair.")

    /// A process that loses the race uses the existing key; otherwise two processes would continue with different keys.
    @Test func allWhoMakeOneAtOnceHaveTheSame() throws {
        for _ in 0..<20 {
            let directory = try TemporaryDirectory()
            let keys = Locked<Set<PublicKey>>([])
            let threads = (0..<4).map { _ in
                TestThread {
                    guard let made = try? KeyPair.open(directory.path("key.pem"), Self.wording) else { return }
                    keys.withLock { _ = $0.insert(made.pair.key) }
                }
            }
            for thread in threads { thread.join() }
            #expect(keys.withLock { $0.count } == 1)
        }
    }

    /// An X25519 key (RFC 8410) has the same length, and its algorithm number is the one before Ed25519's.
    @Test func aKeyOfAnotherAlgorithmIsNone() throws {
        let key = Sample.key.raw
        let text = KeyDocument.pem(KeyDocument.privateLabel, KeyDocument.privatePrefix, key)
        #expect(KeyDocument.key(text, KeyDocument.privateLabel, KeyDocument.privatePrefix) == key)
        var prefix = KeyDocument.privatePrefix
        prefix[11] = 0x6E
        let other = KeyDocument.pem(KeyDocument.privateLabel, prefix, key)
        #expect(KeyDocument.key(other, KeyDocument.privateLabel, KeyDocument.privatePrefix) == nil)
    }
}
