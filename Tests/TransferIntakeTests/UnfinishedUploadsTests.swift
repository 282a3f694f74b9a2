import Testing
import TransferCatalog
import TransferModel

@testable import TransferIntake

@Suite struct UnfinishedUploadsTests {
    private typealias Holder = UnfinishedUploads.Holder

    /// - Parameter port: of a client that has no id.
    private static func upload(_ number: Int, of holder: Holder, port: Int = 1) -> UnfinishedUpload {
        var upload = UnfinishedUpload(id: UploadID(high: 1, low: UInt64(number)), path: "a", begun: 0)
        switch holder {
        case .client(let id): (upload.client, upload.sender) = (id, "somebody")
        case .host(let host): upload.sender = "\(host):\(port)"
        }
        return upload
    }

    /// Half of what is free is for others, whatever one client does, also after a restart.
    @Test func oneClientLeavesPlacesToOthers() {
        let unfinished = UnfinishedUploads()
        let (greedy, other) = (Holder.client(1), Holder.client(2))
        // Who cannot be told apart counts by the address, whatever port each connection has.
        let (near, far) = (Holder.host("[::1]"), Holder.host("192.0.2.1"))
        var number = 0
        func fill(_ holder: Holder) {
            while unfinished.leavesEnough(holder) {
                _ = unfinished.begin(Self.upload(number, of: holder, port: number))
                number += 1
            }
        }
        fill(greedy)
        #expect(number == UnfinishedUploads.places / 2 + 1)
        #expect(unfinished.leavesEnough(other) && unfinished.leavesEnough(near))
        fill(near)
        #expect(number < UnfinishedUploads.places && unfinished.leavesEnough(other) && unfinished.leavesEnough(far))
        // However many addresses they have.
        for host in 0..<20_000 { fill(.host("\(host)")) }
        #expect(number < UnfinishedUploads.places && unfinished.leavesEnough(other))
        let later = UnfinishedUploads()
        later.add(unfinished.all)
        #expect(!later.leavesEnough(greedy) && !later.leavesEnough(near) && later.leavesEnough(other))
        // Whoever has ended some may begin others.
        later.end((0..<number).map { UploadID(high: 1, low: UInt64($0)) })
        #expect(later.leavesEnough(greedy) && later.leavesEnough(near) && later.all.isEmpty)
    }

    /// What is declared once more counts once.
    @Test func whatIsDeclaredAgainCountsOnce() {
        let unfinished = UnfinishedUploads()
        for number in 0..<UnfinishedUploads.places {
            var upload = Self.upload(1, of: .client(1))
            upload.size = UInt64(number)
            _ = unfinished.begin(upload)
        }
        #expect(unfinished.leavesEnough(.client(1)) && unfinished.all.count == 1)
    }
}
