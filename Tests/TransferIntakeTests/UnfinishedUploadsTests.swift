import Testing
import TransferCatalog
import TransferModel

@testable import TransferIntake
import TransferPorts

@Suite struct UnfinishedUploadsTests {
    private typealias Holder = UnfinishedUploads.Holder

    private static func holder(_ sender: String) -> Holder { Holder(client: nil, sender: sender) }

    /// Clients without identity are counted by address, regardless of the port. An IPv6 subscriber counts as one.
    @Test(arguments: [
        ("192.0.2.1:1", "192.0.2.1:2", true), ("192.0.2.1:1", "192.0.2.2:1", false), ("192.0.2.1:1", "192.0.2.1", true),
        ("[::1]:1", "[::1]:77", true), ("[2001:db8::1]:1", "[2001:db8::ffff:2]:1", true),
        ("[2001:db8::1]:1", "2001:db8::9", true), ("[2001:db8:0:1::1]:1", "[2001:db8::1]:1", false),
        ("[::ffff:192.0.2.1]:1", "192.0.2.1:2", true), ("[fe80::1%eth0]:1", "[fe80::2%eth1]:1", true),
        ("unix:1", "unix:2", true), ("unix", "a proxy", false), ("", "192.0.2.1:1", false),
    ])
    func whoCountsAsOne(_ one: String, _ other: String, _ isSame: Bool) {
        #expect((Self.holder(one) == Self.holder(other)) == isSame)
    }

    /// A client that takes places and is counted by ID or by address.
    private struct Taker {
        var client: UInt64?
        var host = "somebody"

        var holder: Holder { Holder(client: client, sender: sender(1)) }

        func sender(_ port: Int) -> String { client == nil ? "\(host):\(port)" : host }

        func upload(_ number: Int) -> UnfinishedUpload {
            var upload = UnfinishedUpload(
                id: UploadID(high: 1, low: UInt64(number)), path: "a", client: client, begun: Int64(number))
            upload.sender = sender(number)
            return upload
        }
    }

    private func fill(_ unfinished: UnfinishedUploads, _ taker: Taker, _ numbers: Range<Int>) {
        for number in numbers { _ = unfinished.begin(taker.upload(number)) }
    }

    private func id(_ number: Int) -> UploadID { UploadID(high: 1, low: UInt64(number)) }

    private func firstLoser(_ place: UnfinishedUploads.Place) -> UploadID? {
        if case .instead(let uploads) = place { uploads.first } else { nil }
    }

    private static let share = UnfinishedUploads.share

    /// A client that has its share loses its own oldest upload, also after a restart. Other clients find places.
    @Test(arguments: [Taker(client: 1), Taker(host: "192.0.2.1")]) private func whoHasItsShareLosesItsOldest(
        _ taker: Taker
    ) {
        let unfinished = UnfinishedUploads()
        fill(unfinished, taker, 0..<Self.share - 1)
        #expect(unfinished.place(for: taker.holder) == .free)
        fill(unfinished, taker, Self.share - 1..<Self.share)
        #expect(firstLoser(unfinished.place(for: taker.holder)) == id(0))
        #expect(unfinished.place(for: Taker(client: 2).holder) == .free)
        #expect(unfinished.place(for: Taker(host: "[::1]").holder) == .free)
        let later = UnfinishedUploads()
        later.add(unfinished.all.shuffled())
        #expect(firstLoser(later.place(for: taker.holder)) == id(0))
        later.end([id(0), id(1)])
        #expect(later.place(for: taker.holder) == .free)
    }

    /// If all places are used, a new client takes one from the client that has most.
    @Test func aNewcomerTakesFromWhoHasMost() {
        let unfinished = UnfinishedUploads()
        for client in 0..<8 {
            fill(unfinished, Taker(client: UInt64(client)), client * Self.share..<(client + 1) * Self.share)
        }
        unfinished.end((0..<10).map { id($0) })
        fill(unfinished, Taker(client: 9), 20_000..<20_010)
        // The first client has ten uploads fewer than the others.
        for newcomer in [Taker(client: 10), Taker(client: 9), Taker(host: "192.0.2.1"), Taker(client: 0)] {
            let loser = firstLoser(unfinished.place(for: newcomer.holder)).map { Int($0.low) / Self.share }
            #expect(loser.map { (1..<8).contains($0) } == true, "\(newcomer)")
        }
    }

    /// Clients without identity, however many addresses they have, leave three quarters of the places to known clients.
    @Test func theNamelessHaveAQuarter() {
        let unfinished = UnfinishedUploads()
        for host in 0..<UnfinishedUploads.namelessShare - 2 {
            fill(unfinished, Taker(host: "[2001:db8:\(String(host, radix: 16))::1]"), host..<host + 1)
        }
        let two = Taker(host: "192.0.2.1")
        fill(unfinished, two, 20_000..<20_002)
        #expect(firstLoser(unfinished.place(for: Taker(host: "192.0.2.2").holder)) == id(20_000))
        #expect(firstLoser(unfinished.place(for: two.holder)) == id(20_000))
        #expect(unfinished.place(for: Taker(client: 1).holder) == .free)
    }

    /// An upload that has ended gives its place back, and memory does not grow.
    @Test func whatHasEndedIsForgotten() {
        let unfinished = UnfinishedUploads()
        let taker = Taker(client: 1)
        fill(unfinished, taker, 0..<Self.share)
        for number in Self.share..<50_000 {
            unfinished.end([id(number - Self.share)])
            _ = unfinished.begin(taker.upload(number))
        }
        #expect(unfinished.all.count == Self.share)
        #expect(firstLoser(unfinished.place(for: taker.holder)) == id(50_000 - Self.share))
    }

    /// An upload that is declared again counts once.
    @Test func whatIsDeclaredAgainCountsOnce() {
        let unfinished = UnfinishedUploads()
        for number in 0..<UnfinishedUploads.places {
            var upload = Taker(client: 1).upload(1)
            upload.size = UInt64(number)
            _ = unfinished.begin(upload)
        }
        #expect(unfinished.place(for: Taker(client: 1).holder) == .free && unfinished.all.count == 1)
        #expect(unfinished.all[0].size == UInt64(UnfinishedUploads.places - 1))
    }

    /// Long paths use up a client's share earlier. Other clients still find places.
    @Test func longPathsTakePlacesToo() {
        let unfinished = UnfinishedUploads()
        let path = String(repeating: "p", count: 4000)
        let count = UnfinishedUploads.mostBytes / 8 / 4000
        for number in 0...count {
            #expect(unfinished.place(for: .client(1)) == .free)
            _ = unfinished.begin(UnfinishedUpload(id: id(number), path: path, client: 1, begun: Int64(number)))
        }
        #expect(firstLoser(unfinished.place(for: .client(1))) == id(0))
        #expect(unfinished.place(for: .client(2)) == .free)
        unfinished.end((0..<count).map(id))
        #expect(unfinished.place(for: .client(1)) == .free)
    }
}
