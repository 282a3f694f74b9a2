import Testing
import TransferCatalog
import TransferModel

@testable import TransferIntake

@Suite struct UnfinishedUploadsTests {
    private typealias Holder = UnfinishedUploads.Holder

    private static func holder(_ sender: String) -> Holder { Holder(client: nil, sender: sender) }

    /// Who cannot be told apart counts by the address, whatever port each connection has, and one IPv6 subscriber once.
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

    /// Somebody who takes places, by id or by address.
    private struct Taker {
        var client: UInt64?
        var host = "somebody"

        var holder: Holder { Holder(client: client, sender: sender(1)) }

        func sender(_ port: Int) -> String { client == nil ? "\(host):\(port)" : host }

        func upload(_ number: Int) -> UnfinishedUpload {
            var upload = UnfinishedUpload(
                id: UploadID(high: 1, low: UInt64(number)), path: "a", client: client, begun: 0)
            upload.sender = sender(number)
            return upload
        }
    }

    /// Half of what is free is for others, whatever one client does, also after a restart.
    @Test func oneClientLeavesPlacesToOthers() {
        let unfinished = UnfinishedUploads()
        let (greedy, other) = (Taker(client: 1), Taker(client: 2))
        let (near, far) = (Taker(host: "[::1]"), Taker(host: "192.0.2.1"))
        var number = 0
        func fill(_ taker: Taker) {
            while unfinished.leavesEnough(taker.holder) {
                _ = unfinished.begin(taker.upload(number))
                number += 1
            }
        }
        fill(greedy)
        #expect(number == UnfinishedUploads.places / 2 + 1)
        #expect(unfinished.leavesEnough(other.holder) && unfinished.leavesEnough(near.holder))
        fill(near)
        #expect(number < UnfinishedUploads.places && unfinished.leavesEnough(other.holder))
        #expect(unfinished.leavesEnough(far.holder))
        // However many addresses they have: who has begun nothing finds a place where others may begin no more.
        var host = 0
        while number < UnfinishedUploads.places * 3 / 4 {
            fill(Taker(host: "[2001:db8:\(String(host, radix: 16))::1]"))
            host += 1
        }
        #expect(unfinished.leavesEnough(far.holder) && unfinished.leavesEnough(other.holder))
        for host in host..<20_000 { fill(Taker(host: "[2001:db8:\(String(host, radix: 16))::1]")) }
        #expect(number < UnfinishedUploads.places && unfinished.leavesEnough(other.holder))
        let later = UnfinishedUploads()
        later.add(unfinished.all)
        #expect(!later.leavesEnough(greedy.holder) && !later.leavesEnough(near.holder))
        #expect(later.leavesEnough(other.holder))
        // Whoever has ended some may begin others.
        later.end((0..<number).map { UploadID(high: 1, low: UInt64($0)) })
        #expect(later.leavesEnough(greedy.holder) && later.leavesEnough(near.holder) && later.all.isEmpty)
    }

    /// What is declared once more counts once.
    @Test func whatIsDeclaredAgainCountsOnce() {
        let unfinished = UnfinishedUploads()
        for number in 0..<UnfinishedUploads.places {
            var upload = Taker(client: 1).upload(1)
            upload.size = UInt64(number)
            _ = unfinished.begin(upload)
        }
        #expect(unfinished.leavesEnough(Taker(client: 1).holder) && unfinished.all.count == 1)
    }
}
