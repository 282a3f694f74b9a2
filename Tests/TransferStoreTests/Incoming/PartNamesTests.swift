import Testing
import TransferPorts
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// The next server learns only from a file's name in the folder of incoming parts what the file is.
@Suite struct PartNamesTests {
    private static let ids = [
        UploadID(high: 0, low: 0), UploadID(high: .max, low: .max), UploadID(high: 1, low: 1 << 63), .random(),
    ]

    @Test(arguments: ids, [0, 1, 9, 10, 1_000_000]) func eachNameSaysWhatItIs(_ id: UploadID, number: Int) {
        let part = StagedFile.resumableName(id)
        #expect(StagedFile.upload(ofPart: part) == id && StagedFile.upload(ofWithdrawn: part) == nil)
        let withdrawn = StagedFile.withdrawnName(id, number)
        #expect(StagedFile.upload(ofWithdrawn: withdrawn) == id && StagedFile.upload(ofPart: withdrawn) == nil)
        let sheet = AppendSheet.name(id)
        #expect(AppendSheet.upload(of: sheet) == id)
        #expect(StagedFile.upload(ofPart: sheet) == nil && StagedFile.upload(ofWithdrawn: sheet) == nil)
        #expect(AppendSheet.upload(of: part) == nil && AppendSheet.upload(of: withdrawn) == nil)
    }

    /// The next server removes parts that have no upload ID in their name.
    @Test func whatNobodyGoesOnWithHasNoUpload() {
        let name = StagedFile.scratchName()
        #expect(name.hasSuffix(StagedFile.partSuffix))
        #expect(StagedFile.upload(ofPart: name) == nil && StagedFile.upload(ofWithdrawn: name) == nil)
    }

    @Test(arguments: OddNames.components) func otherNamesAreNone(_ name: String) {
        for name in [name, name + StagedFile.partSuffix, name + "-0-syncing" + StagedFile.partSuffix, name + ".sheet"] {
            #expect(StagedFile.upload(ofPart: name) == nil && StagedFile.upload(ofWithdrawn: name) == nil)
            #expect(AppendSheet.upload(of: name) == nil && TrashBatch(name) == nil)
        }
    }
}
