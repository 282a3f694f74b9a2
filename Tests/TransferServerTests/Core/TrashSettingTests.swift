import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferServer

/// The server decides once whether a directory has a trash, and keeps the decision beside the catalog.
@Suite struct TrashSettingTests {
    @Test func aNewDirectoryHasOneAndAnOldOneHasNot() throws {
        let folder = try TemporaryDirectory()
        #expect(!TrashSetting.decide(nil, isNew: false, in: folder.path("")))
        #expect(names(in: folder.path("")) == [])
        #expect(TrashSetting.decide(nil, isNew: true, in: folder.path("")))
        #expect(TrashSetting.decide(nil, isNew: false, in: folder.path("")))
    }

    @Test func whatIsSaidHoldsUntilSomethingElseIsSaid() throws {
        let folder = try TemporaryDirectory()
        for isOn in [true, false, true] {
            #expect(TrashSetting.decide(isOn, isNew: false, in: folder.path("")) == isOn)
            #expect(TrashSetting.decide(nil, isNew: false, in: folder.path("")) == isOn)
        }
        #expect(!TrashSetting.decide(false, isNew: true, in: folder.path("")))
    }

    /// A setting that other users can write, or that is damaged, is ignored.
    @Test func whatCannotBeTrustedSaysNothing() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path(TrashSetting.fileName)
        #expect(try OwnFile.write(Array("on\n".utf8), to: path, replaces: true))
        #expect(chmod(path, 0o666) == 0)
        #expect(!TrashSetting.decide(nil, isNew: false, in: folder.path("")))
        #expect(chmod(path, 0o600) == 0)
        #expect(TrashSetting.decide(nil, isNew: false, in: folder.path("")))
        #expect(try OwnFile.write(Array("on".utf8), to: path, replaces: true))
        #expect(!TrashSetting.decide(nil, isNew: false, in: folder.path("")))
    }
}
