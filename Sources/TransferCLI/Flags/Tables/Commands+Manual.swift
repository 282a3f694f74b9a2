extension Commands {
    static let man = Command(
        name: "man", summary: "Print a manual page.", operands: "[COMMAND|PAGE]",
        description: [
            "Prints the page of a command, or of the program, as man(1) reads it. 'make install' and packages put all pages "
                + "where man(1) finds them, under names such as transfer-push."
        ],
        flags: [
            Flag(name: "names", help: "Print the names of all pages.", reach: .environment), .help,
        ],
        examples: [
            .init(caption: "Read about pushing", line: "transfer man push | man -l -"),
            .init(caption: "The same by the page's name", line: "transfer man transfer-push | man -l -"),
        ],
        outcomes: [.init(.success, "it was printed"), .init(.usage)], operandValue: .command)
}
