import Testing
import TransferCatalog
import TransferModel

@testable import TransferIntake

@Suite struct UnfinishedUploadsTests {
    private static func upload(_ number: Int, of client: UInt64?) -> UnfinishedUpload {
        UnfinishedUpload(id: UploadID(high: 1, low: UInt64(number)), path: "a", client: client, begun: 0)
    }

    /// Half of what is free is for others, whatever one client does, also after a restart.
    @Test func oneClientLeavesPlacesToOthers() {
        let unfinished = UnfinishedUploads()
        var number = 0
        func begin(_ client: UInt64?) {
            _ = unfinished.begin(Self.upload(number, of: client))
            number += 1
        }
        while unfinished.leavesEnough(1) { begin(1) }
        #expect(number == UnfinishedUploads.places / 2 + 1)
        #expect(unfinished.leavesEnough(2) && unfinished.leavesEnough(nil))
        while unfinished.leavesEnough(nil) { begin(nil) }
        #expect(number < UnfinishedUploads.places && unfinished.leavesEnough(2))
        let later = UnfinishedUploads()
        later.add(unfinished.all)
        #expect(!later.leavesEnough(1) && !later.leavesEnough(nil) && later.leavesEnough(2))
        // Whoever has ended some may begin others.
        later.end((0..<number).map { UploadID(high: 1, low: UInt64($0)) })
        #expect(later.leavesEnough(1) && later.leavesEnough(nil) && later.all.isEmpty)
    }

    /// What is declared once more counts once.
    @Test func whatIsDeclaredAgainCountsOnce() {
        let unfinished = UnfinishedUploads()
        for number in 0..<UnfinishedUploads.places {
            var upload = Self.upload(1, of: 1)
            upload.size = UInt64(number)
            _ = unfinished.begin(upload)
        }
        #expect(unfinished.leavesEnough(1) && unfinished.all.count == 1)
    }
}
