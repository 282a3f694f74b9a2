import Testing
import TransferClassic

@testable import TransferCLI

/// The help lists the framings of the table.
@Suite struct ClassicFlagsTests {
    private let framings = [
        ClassicFraming.header7, .sized(),
        ClassicFraming(
            "added", window: 1,
            options: [ClassicFraming.Option("ends", help: "ends=lf where lines have no CR", values: [])],
            conversation: { ClassicFraming.text.conversation() }, client: nil),
    ]

    @Test func anAddedFramingIsInTheHelp() {
        for help in [ClassicFlags.details(of: framings), PushClassic.details(of: framings)] {
            #expect(help.contains("NAME is header7, sized, added"))
            #expect(help.contains(", for added ends=lf where lines have no CR"))
        }
    }

    @Test func theHelpHasTheWholeTable() {
        #expect(ClassicFlags.listeners.flag.details == ClassicFlags.details(of: ClassicFraming.standard))
        #expect(
            PushClassic.framing.flag.details == PushClassic.details(of: ClassicFraming.standard.filter(\.hasClient)))
    }
}
