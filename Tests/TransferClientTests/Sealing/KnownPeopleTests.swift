import CLinux
import Glibc
import Testing
import TransferKeys
import TransferModel
import TransferSealing
import TransferTestSupport

@testable import TransferClient

@Suite struct KnownPeopleTests {
    private let home: TemporaryDirectory
    private let people: KnownPeople
    private let server = KeyFingerprint(of: [1])
    private let first = KeyPair()
    private let second = KeyPair()

    init() throws {
        home = try TemporaryDirectory()
        people = KnownPeople(path: home.path("transfer/known_people"))
    }

    private func certificate(_ owner: KeyPair, at seconds: Int64 = 100) throws -> SealingCertificate {
        SealingCertificate(try SealingKey().recipient, by: owner, at: UTCTime(clamping: seconds))
    }

    private func fault(_ body: () throws(KnownPeople.Fault) -> Void) -> KnownPeople.Fault? {
        do throws(KnownPeople.Fault) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    // MARK: Signers

    @Test func theFirstSignerIsKnownFromThenOn() throws {
        #expect(try people.check(signer: first.key, named: "bob", on: server) == .first)
        #expect(try people.check(signer: first.key, named: "bob", on: server) == .known)
        let fault = fault { () throws(KnownPeople.Fault) in
            _ = try people.check(signer: second.key, named: "bob", on: server)
        }
        #expect(fault?.reason == .otherKey && fault?.message.contains(second.key.fingerprint) ?? false)
        #expect(fault?.message.contains(first.key.fingerprint) ?? false)
        #expect(try people.entries().count == 1)
    }

    /// Names come from the server and are compared byte by byte.
    @Test(
        arguments: ["bob", "", "%", "jos\u{E9}", "jose\u{301}", "100%", "%20", "#x", "-", "\u{A0}"]
            + OddNames.components)
    func namesAreKeptAsTheyAre(_ name: String) throws {
        #expect(try people.check(signer: first.key, named: name, on: server) == .first)
        #expect(try people.check(signer: second.key, named: "other", on: server) == .first)
        #expect(try people.entries(of: name, on: server).map(\.identity) == [KeyFingerprint(of: first.key)])
        #expect(try people.entries().first?.name.hasSameBytes(as: name) ?? false)
        #expect(try people.check(signer: first.key, named: name, on: server) == .known)
    }

    @Test func everyServerHasItsOwnPeople() throws {
        #expect(try people.check(signer: first.key, named: "bob", on: server) == .first)
        #expect(try people.check(signer: second.key, named: "bob", on: KeyFingerprint(of: [2])) == .first)
        #expect(try people.check(signer: second.key, named: "bob", on: nil) == .first)
        #expect(try people.check(signer: first.key, named: "bob", on: server) == .known)
        #expect(try people.forget("bob", on: nil).count == 1)
        #expect(try people.forget("bob", on: nil) == [])
        #expect(try people.entries().count == 2)
    }

    // MARK: Certificates

    @Test func allThatAreThereAtFirstAreTaken() throws {
        let certificates = [try certificate(first), try certificate(second)]
        let (admitted, sightings) = try people.admit(certificates, of: "bob", on: server)
        #expect(admitted == certificates && sightings.map(\.kind) == [.first, .first])
        #expect(
            sightings[0].sentence
                == "bob's key is \(first.key.fingerprint), seen for the first time; compare it with what 'transfer whoami' "
                + "says at bob's")
        let again = try people.admit(certificates, of: "bob", on: server)
        #expect(again.admitted == certificates && again.sightings == [])
    }

    @Test func aKnownIdentityMayHaveANewerKey() throws {
        let (old, new) = (try certificate(first, at: 5), try certificate(first, at: 6))
        _ = try people.admit([old], of: "bob", on: server)
        let (admitted, sightings) = try people.admit([new], of: "bob", on: server)
        #expect(admitted == [new] && sightings.map(\.kind) == [.renewed])
        let entry = try #require(try people.entries().first)
        #expect(entry.sealing?.fingerprint == new.fingerprint && entry.sealing?.issued == new.issued)
        for older in [old, try certificate(first, at: 6)] {
            let fault = fault { () throws(KnownPeople.Fault) in _ = try people.admit([older], of: "bob", on: server) }
            #expect(fault?.reason == .otherKey && fault?.message.contains(older.fingerprint.description) ?? false)
        }
        #expect(try people.entries() == [entry])
    }

    /// A newer signature of a known key is not reported, and an older one does not replace the newer one.
    @Test func aKeyThatWasSignedAgainIsTheSame() throws {
        let key = try SealingKey().recipient
        for (seconds, kept) in [(5, 5), (9, 9), (7, 9)] as [(Int64, Int64)] {
            let certificate = SealingCertificate(key, by: first, at: UTCTime(clamping: seconds))
            let (admitted, sightings) = try people.admit([certificate], of: "bob", on: server)
            #expect(admitted == [certificate] && sightings.allSatisfy { $0.kind == .first })
            #expect(try people.entries().first?.sealing?.issued == UTCTime(clamping: kept))
        }
    }

    /// Until now only signatures of this signer were seen, such as those of sent files.
    @Test func aKnownSignerMaySayWhatToSealFor() throws {
        _ = try people.check(signer: first.key, named: "bob", on: server)
        let certificate = try certificate(first)
        let (admitted, sightings) = try people.admit([certificate], of: "bob", on: server)
        #expect(admitted == [certificate] && sightings.map(\.kind) == [.renewed])
        #expect(try people.check(signer: first.key, named: "bob", on: server) == .known)
    }

    @Test func othersAreLeftOutOrRefused() throws {
        let (own, other) = (try certificate(first), try certificate(second))
        _ = try people.admit([own], of: "bob", on: server)
        let before = try people.entries()
        let (admitted, sightings) = try people.admit([other, own], of: "bob", on: server)
        #expect(admitted == [own] && sightings.map(\.kind) == [.leftOut])
        #expect(sightings[0].sentence.contains("'transfer people --trust bob'"))
        #expect(KnownPeople.trustCommand("bob o'neil") == "transfer people --trust 'bob o'\\''neil'")
        let fault = fault { () throws(KnownPeople.Fault) in _ = try people.admit([other], of: "bob", on: server) }
        #expect(fault?.reason == .otherKey && fault?.message.hasPrefix("THE KEY OF bob HAS CHANGED.") ?? false)
        #expect(try people.entries() == before)
        let accepted = try people.accept([other], of: "bob", on: server)
        #expect(accepted.map(\.kind) == [.accepted])
        #expect(try people.admit([other], of: "bob", on: server).sightings == [])
        #expect(try people.entries().map(\.identity) == [KeyFingerprint(of: second.key)])
    }

    // MARK: The file

    @Test func onlyItsOwnerCanReadIt() throws {
        _ = try people.check(signer: first.key, named: "bob", on: server)
        var status = stat()
        #expect(stat(people.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test func whatOthersWroteStays() throws {
        let text = "# mine\n\n\(server)\tbob  \(KeyFingerprint(of: first.key)) -\r\n"
        try Files.write(people.path, text)
        #expect(try people.check(signer: first.key, named: "bob", on: server) == .known)
        #expect(try people.check(signer: second.key, named: "carol", on: server) == .first)
        let written = String(decoding: try #require(Files.read(people.path)), as: UTF8.self)
        #expect(written == text + "\(server) carol \(KeyFingerprint(of: second.key)) -\n")
    }

    /// A line that the parser skipped could hide that a key has changed.
    @Test(arguments: [
        "bob", "x bob y -", "- bob SHA256:x -", "- bob SHA256:\(String(repeating: "A", count: 43)) x",
        "- b%2 SHA256:\(String(repeating: "A", count: 43)) -", "- %ff SHA256:\(String(repeating: "A", count: 43)) -",
        "- bob SHA256:\(String(repeating: "A", count: 43)) SHA256:\(String(repeating: "A", count: 43)) soon",
        "- bob SHA256:\(String(repeating: "A", count: 43)) - - -",
    ])
    func aLineThatSaysNothingIsSaid(_ line: String) throws {
        try Files.write(people.path, "# first\n\(line)\n")
        let fault = fault { () throws(KnownPeople.Fault) in
            _ = try people.check(signer: first.key, named: "bob", on: server)
        }
        #expect(fault?.reason == .file && fault?.message.contains("in line 2.") ?? false)
        #expect(Files.read(people.path) == Array("# first\n\(line)\n".utf8))
    }
}
