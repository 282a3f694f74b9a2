// swift-tools-version: 6.2

import PackageDescription

/// Swift 6 language mode is the default of this tools version. These settings make it stricter (see
/// docs/design/connection.md).
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

/// Settings of tests. The compiler does not verify the code that it passes to LLVM, so that tests are compiled faster.
let testing: [SwiftSetting] = strict + [.unsafeFlags(["-Xfrontend", "-disable-llvm-verify"])]

func library(_ name: String, uses dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .target(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)
}

func tests(_ name: String, uses dependencies: [Target.Dependency] = []) -> Target {
    .testTarget(
        name: name + "Tests",
        dependencies: [.target(name: name), "TransferTestSupport", "TransferSystem"] + dependencies,
        swiftSettings: testing)
}

/// Whether the fuzz targets are built. All code is then instrumented, and libFuzzer provides the `main` function, so
/// the program becomes a library without a `main` function. See `scripts/fuzz.sh`.
let isFuzzing = Context.environment["TRANSFER_FUZZ"] == "1"

/// Whether the simulator is built by itself. Blocks are small then, so that uploads of several blocks cost as little as
/// others. See `scripts/simulate.sh`.
let isSimulating = Context.environment["TRANSFER_SIMULATION"] == "1"

let commandLine: [Target.Dependency] = [
    "TransferServer", "TransferClient", "TransferAccess", "TransferModel", "TransferProtocol", "TransferClassic",
    "TransferHTTP", "TransferCodec", "TransferKeys",
    "TransferReceipts", "TransferSealing", "TransferPorts", "TransferStore", "TransferSystem", "TransferIO", "CLinux",
    "TransferGallery", "TransferCluster", "TransferObjects", "TransferPostgres",
]

let package = Package(
    name: "transfer",
    products: [
        .executable(name: "transfer", targets: ["TransferCLI"]),
        .library(name: "TransferClient", targets: ["TransferClient"]),
    ],
    targets: [
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CZlib"),
        .systemLibrary(name: "CISAL"),
        .systemLibrary(name: "CZstd"),
        .systemLibrary(name: "CXXHash"),
        .systemLibrary(name: "COpenSSL"),
        .systemLibrary(name: "CQREncode"),
        .systemLibrary(name: "CIPSecMB"),
        .systemLibrary(name: "CSQLite"),
        .systemLibrary(name: "CPostgres"),
        .systemLibrary(name: "CTurboJPEG"),
        .systemLibrary(name: "CWebP"),
        .systemLibrary(name: "CHEIF"),
        .systemLibrary(name: "CSpawn", path: "Tests/CSpawn"),
        .target(name: "CPage", exclude: ["assets"]),

        library("TransferSystem", uses: ["CLinux"]),
        .target(
            name: "TransferModel", dependencies: ["TransferSystem"],
            swiftSettings: strict + (isSimulating ? [.define("TRANSFER_SMALL_BLOCKS")] : [])),
        library("TransferProtocol", uses: ["TransferModel"]),
        library(
            "TransferCodec",
            uses: ["TransferModel", "TransferSystem", "CZlib", "CISAL", "CZstd", "CXXHash", "COpenSSL"]),
        library("TransferPictures", uses: ["TransferModel", "CZlib", "CTurboJPEG", "CWebP", "CHEIF"]),
        library("TransferKeys", uses: ["TransferModel", "TransferSystem", "COpenSSL"]),
        library("TransferSealing", uses: ["TransferModel", "TransferKeys", "TransferSystem", "COpenSSL"]),
        library(
            "TransferClassic", uses: ["TransferModel", "TransferCodec", "TransferKeys"],
            exclude: [
                "classic.md", "Messages/messages.md", "Framings/Header7/header7.md", "Framings/JSONLine/chat.md",
                "Framings/JSONLine/jsonline.md", "Framings/Sized/sized.md", "Framings/Tagged37/tagged37.md",
                "Framings/Text/text.md",
            ]),
        library("TransferHTTP", uses: ["TransferModel"]),
        library(
            "TransferReceipts",
            uses: ["TransferModel", "TransferProtocol", "TransferKeys", "TransferSystem", "COpenSSL"]),
        library(
            "TransferAccess",
            uses: [
                "TransferModel", "TransferKeys", "TransferSystem", "COpenSSL", "CLinux",
                "CQREncode",
            ]),
        library("TransferIO", uses: ["TransferSystem", "CLinux", "COpenSSL", "CIPSecMB"]),
        library(
            "TransferObjects", uses: ["TransferModel", "TransferHTTP", "TransferIO", "TransferSystem", "COpenSSL"]),
        library("TransferPorts", uses: ["TransferModel", "TransferCodec", "TransferSystem"]),
        library(
            "TransferStore", uses: ["TransferPorts", "TransferModel", "TransferCodec", "TransferSystem", "CLinux"]),
        library("TransferDatabase", uses: ["TransferModel", "TransferSystem", "CSQLite"]),
        library("TransferPostgres", uses: ["TransferIO", "TransferSystem", "CPostgres"]),
        library("TransferCatalog", uses: ["TransferDatabase", "TransferPorts", "TransferModel", "TransferSystem"]),
        library("TransferMail", uses: ["TransferPorts", "TransferKeys", "TransferModel", "TransferSystem"]),
        library("TransferLedger", uses: ["TransferDatabase", "TransferPorts", "TransferModel", "TransferSystem"]),
        library(
            "TransferCluster",
            uses: [
                "TransferObjects", "TransferPostgres", "TransferAccess", "TransferKeys", "TransferPorts",
                "TransferCodec",
                "TransferModel", "TransferSystem", "CLinux",
            ]),
        library(
            "TransferGallery",
            uses: [
                "TransferPictures", "TransferDatabase", "TransferIO", "TransferModel", "TransferSystem",
            ]),
        library("TransferConnection", uses: ["TransferModel", "TransferProtocol", "TransferCodec", "TransferIO"]),
        library(
            "TransferIntake",
            uses: [
                "TransferModel", "TransferCodec", "TransferKeys", "TransferAccess", "TransferReceipts",
                "TransferSystem",
                "TransferPorts", "TransferMail",
            ]),
        library(
            "TransferServer",
            uses: [
                "TransferIntake", "TransferModel", "TransferProtocol", "TransferClassic", "TransferHTTP",
                "TransferCodec",
                "TransferKeys", "TransferSealing",
                "TransferAccess",
                "TransferReceipts",
                "TransferSystem", "TransferIO", "TransferConnection", "TransferPorts", "TransferStore",
                "TransferCatalog", "TransferMail", "TransferLedger", "TransferGallery", "TransferPictures",
                "TransferCluster", "TransferObjects", "TransferPostgres", "CLinux", "CPage",
            ]),
        library(
            "TransferClient",
            uses: [
                "TransferModel", "TransferProtocol", "TransferClassic", "TransferHTTP", "TransferCodec", "TransferKeys",
                "TransferReceipts", "TransferSealing",
                "TransferSystem", "TransferIO", "TransferConnection",
                "TransferPorts", "TransferStore", "CLinux",
            ]),
        isFuzzing
            ? .target(
                name: "TransferCLI", dependencies: commandLine, exclude: ["Transfer.swift"], swiftSettings: strict)
            : .executableTarget(name: "TransferCLI", dependencies: commandLine, swiftSettings: strict),

        .target(name: "CAllocations", path: "Benchmarks/CAllocations"),
        .executableTarget(
            name: "MicroBenchmarks",
            dependencies: [
                "TransferClient", "TransferServer", "TransferModel", "TransferProtocol", "TransferCodec",
                "TransferKeys",
                "TransferReceipts", "TransferIO", "TransferSystem", "TransferTestSupport", "CAllocations",
            ],
            path: "Benchmarks/Micro", swiftSettings: strict),

        .target(
            name: "TransferFuzzing",
            dependencies: [
                "TransferModel", "TransferProtocol", "TransferCodec", "TransferKeys", "TransferReceipts",
                "TransferSealing", "TransferAccess", "TransferClassic", "TransferHTTP", "TransferPictures",
                "TransferObjects",
                "TransferPorts", "TransferStore", "TransferIO", "TransferConnection", "TransferIntake",
                "TransferServer",
                "TransferClient", "TransferCLI", "TransferSimulation", "TransferTestSupport",
            ],
            path: "Fuzz/TransferFuzzing", swiftSettings: strict),
        tests("TransferFuzzing", uses: ["TransferCLI"]),

        .target(
            name: "TransferTestSupport", dependencies: ["CLinux", "COpenSSL", "CSpawn", "TransferIO", "TransferKeys"],
            path: "Tests/TransferTestSupport",
            swiftSettings: strict),
        .target(
            name: "TransferStoreTestSupport",
            dependencies: [
                "TransferModel", "TransferProtocol", "TransferPorts", "TransferStore", "TransferSystem",
                "TransferTestSupport",
            ],
            path: "Tests/TransferStoreTestSupport", swiftSettings: strict),
        .target(
            name: "TransferMemoryStore",
            dependencies: ["TransferAccess", "TransferCodec", "TransferModel", "TransferPorts", "TransferSystem"],
            path: "Tests/TransferMemoryStore", swiftSettings: strict),
        .target(
            name: "TransferClusterModel",
            dependencies: [
                "TransferCluster", "TransferObjects", "TransferCodec", "TransferModel", "TransferPorts",
                "TransferSystem",
            ],
            path: "Tests/TransferClusterModel", swiftSettings: strict),
        .target(
            name: "TransferSimulation",
            dependencies: [
                "TransferIntake", "TransferModel", "TransferCodec", "TransferAccess", "TransferKeys",
                "TransferReceipts",
                "TransferPorts", "TransferStore", "TransferDatabase", "TransferCatalog", "TransferMail",
                "TransferLedger",
                "TransferSystem", "TransferIO", "TransferObjects", "TransferCluster", "TransferClusterModel",
                "TransferMemoryStore", "TransferTestSupport",
                "CLinux",
            ],
            path: "Tests/Simulation/TransferSimulation", swiftSettings: strict),
        .testTarget(
            name: "TransferSimulationTests",
            dependencies: [
                "TransferSimulation", "TransferCatalog", "TransferDatabase", "TransferIntake", "TransferModel",
                "TransferProtocol", "TransferTestSupport",
            ],
            path: "Tests/Simulation/TransferSimulationTests", swiftSettings: testing),
        .testTarget(
            name: "TransferTestSupportTests", dependencies: ["TransferTestSupport", "CSpawn"],
            swiftSettings: testing),
        tests("TransferModel"),
        tests("TransferProtocol", uses: ["TransferModel"]),
        tests("TransferCodec", uses: ["TransferModel", "CZlib", "CISAL", "CZstd", "CXXHash"]),
        tests("TransferPictures", uses: ["TransferModel", "CZlib", "CTurboJPEG", "CWebP"]),
        .executableTarget(
            name: "SandboxProbe", dependencies: ["TransferSystem"], path: "Tests/SandboxProbe", swiftSettings: strict),
        tests("TransferGallery", uses: ["TransferPictures", "TransferDatabase", "TransferModel", "SandboxProbe"]),
        tests("TransferKeys", uses: ["TransferModel"]),
        tests("TransferSealing", uses: ["TransferModel", "TransferKeys"]),
        tests("TransferClassic", uses: ["TransferModel", "TransferCodec", "TransferKeys"]),
        tests("TransferHTTP", uses: ["TransferModel"]),
        tests("TransferReceipts", uses: ["TransferModel", "TransferProtocol", "TransferCodec", "TransferKeys"]),
        tests("TransferAccess", uses: ["TransferModel", "TransferKeys", "TransferMemoryStore", "CLinux", "CQREncode"]),
        tests("TransferIO", uses: ["CLinux", "CIPSecMB", "COpenSSL"]),
        tests("TransferObjects", uses: ["TransferModel", "TransferHTTP", "TransferIO"]),
        tests("TransferConnection", uses: ["TransferModel", "TransferProtocol", "TransferIO"]),
        tests(
            "TransferStore",
            uses: [
                "TransferPorts", "TransferModel", "TransferProtocol", "TransferCodec", "TransferStoreTestSupport",
                "TransferMemoryStore", "TransferCluster", "TransferClusterModel", "CLinux",
            ]),
        tests(
            "TransferMail",
            uses: [
                "TransferLedger", "TransferPorts", "TransferDatabase", "TransferModel", "TransferMemoryStore",
                "TransferCluster", "TransferClusterModel", "CSQLite",
            ]),
        tests(
            "TransferCatalog",
            uses: [
                "TransferDatabase", "TransferPorts", "TransferModel", "TransferProtocol", "TransferMemoryStore",
                "CSQLite",
            ]),
        tests("TransferPostgres", uses: ["CPostgres", "CSpawn"]),
        tests(
            "TransferCluster",
            uses: [
                "TransferClusterModel", "TransferAccess", "TransferCodec", "TransferKeys", "TransferModel",
                "TransferObjects", "TransferPorts", "TransferPostgres", "CSpawn",
            ]),
        tests(
            "TransferIntake",
            uses: [
                "TransferModel", "TransferCodec", "TransferKeys", "TransferAccess", "TransferReceipts", "TransferPorts",
                "TransferStore",
                "TransferDatabase", "TransferCatalog", "TransferMail", "TransferLedger", "TransferStoreTestSupport",
                "TransferCluster", "TransferClusterModel",
            ]),
        tests(
            "TransferServer",
            uses: [
                "TransferIntake", "TransferModel", "TransferProtocol", "TransferClassic", "TransferHTTP",
                "TransferCodec",
                "TransferKeys",
                "TransferAccess",
                "TransferReceipts", "TransferSealing", "TransferIO",
                "TransferPorts", "TransferStore", "TransferDatabase", "TransferCatalog", "TransferMail",
                "TransferLedger", "TransferGallery", "TransferPictures",
                "TransferMemoryStore", "TransferCluster", "TransferClusterModel", "TransferStoreTestSupport",
                "CLinux",
            ]),
        tests(
            "TransferClient",
            uses: [
                "TransferModel", "TransferProtocol", "TransferClassic", "TransferHTTP", "TransferCodec", "TransferKeys",
                "TransferReceipts", "TransferSealing", "TransferIO",
                "TransferServer", "TransferAccess",
                "TransferPorts", "TransferStore", "CLinux",
            ]),
        tests(
            "TransferCLI",
            uses: [
                "CLinux", "CSpawn", "TransferModel", "TransferProtocol", "TransferHTTP", "TransferCodec",
                "TransferClient", "TransferAccess", "TransferClassic",
                "TransferKeys",
                "TransferReceipts", "TransferSealing",
                "TransferIO",
                "TransferPorts", "TransferStore",
            ]),
    ]
)

if isSimulating {
    package.products = [.executable(name: "transfer-simulate", targets: ["TransferSimulate"])]
    package.targets.append(
        .executableTarget(
            name: "TransferSimulate", dependencies: ["TransferSimulation", "TransferModel"],
            path: "Tests/Simulation/TransferSimulate", swiftSettings: strict))
}

if isFuzzing {
    package.products = [.executable(name: "transfer-fuzz", targets: ["TransferFuzz"])]
    package.targets.append(
        .executableTarget(
            name: "TransferFuzz", dependencies: ["TransferFuzzing"], path: "Fuzz/TransferFuzz",
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]))
}
